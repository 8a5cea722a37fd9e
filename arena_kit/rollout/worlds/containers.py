"""The interface of a world's containers, wherever they run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from arena_kit.text import plain_text

OUTPUT_BYTES = 64 << 10
"""Output of a command, and of a service's log, of which the end is kept."""
UNENDED = -1


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a command in a container. status: of its exit. output: the end of both its streams, cleaned."""

    status: int
    output: str


class Printed(Protocol):
    """The output of a command on both its streams."""

    @property
    def said(self) -> bytes:
        """The end of it so far."""

    @property
    def is_over(self) -> bool:
        """Return whether nothing more comes."""

    def more(self, deadline: float) -> bool:
        """Wait until a monotonic deadline for more; return whether there may be more still."""


class Containers(Protocol):
    """Calls about the containers of one world, by their ids. Each has a deadline, and raises PlatformFault."""

    def is_running(self, container: str) -> bool:
        """Return whether a container's first process still runs."""

    def log(self, container: str) -> str:
        """Return the end of what a container has printed; empty if that cannot be told."""

    def run(
        self, container: str, command: Sequence[str], *, deadline: float, environment: Mapping[str, str] | None = None
    ) -> Ran:
        """Run a command in a container to its end. deadline: monotonic.

        The status is UNENDED if the deadline passes first; the command then ends with its container.
        """

    def follow(self, container: str, command: Sequence[str]) -> AbstractContextManager[Printed]:
        """Start a command in a container; yield what it prints.

        The command is not ended with this: it has to end by itself, or with its container.
        """

    def archive(self, container: str, path: str, *, deadline: float) -> AbstractContextManager[Iterator[bytes]]:
        """Yield the tar of a file or a folder in a container. Raises ExportRefused if it is missing."""

    def close(self) -> None:
        """Close all connections."""


def output_text(output: bytes) -> str:
    """Return the end of an output as people may read it."""
    return plain_text(output[-OUTPUT_BYTES:].decode(errors="replace")).strip()
