"""The calls to the Docker engine that worlds are made of. Each has a deadline, and errors become PlatformFault."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound

from arena_kit.errors import PlatformFault
from arena_kit.image.engine import NoEngine, connect
from arena_kit.image.streams import archive_pieces, command_stream
from arena_kit.rollout.exports.state import ExportRefused
from arena_kit.rollout.worlds.containers import OUTPUT_BYTES, UNENDED, Ran, output_text

_HEADER_BYTES = 8
_CONFLICT = 409
_LEAST_SECONDS = 0.1
REFUSED = "engine_refused"


class Engine:
    """A connection to the engine of this host, for one world. Raises PlatformFault."""

    def __init__(self) -> None:
        with errors():
            self.client = connect()

    def close(self) -> None:
        """Close the connection."""
        self.client.close()

    def start(self, options: Mapping[str, Any]) -> str:
        """Create and start a container, without pulling an image; return its id."""
        with errors():
            container = self.client.containers.create(**options)
            container.start()
            return str(container.id)

    def is_running(self, container: str) -> bool:
        """Return whether a container's first process still runs."""
        with errors():
            return bool(self.client.api.inspect_container(container)["State"]["Running"])

    def log(self, container: str) -> str:
        """Return the end of what a service has printed; empty if the engine does not say."""
        with contextlib.suppress(PlatformFault), errors():
            return output_text(self.client.api.logs(container, tail=500))
        return ""

    def run(
        self, container: str, command: Sequence[str], *, deadline: float, environment: Mapping[str, str] | None = None
    ) -> Ran:
        """Run a command in a container to its end. deadline: monotonic.

        The status is UNENDED if the deadline passes first; the command then ends with its container.
        """
        with errors():
            made = self.client.api.exec_create(container, list(command), environment=dict(environment or {}))["Id"]
            with command_stream(self.client, made) as (reader, first):
                output = Output(reader.fileno(), first)
                while output.more(deadline):
                    pass
            if not output.is_over:
                return Ran(UNENDED, output_text(output.said))
            # The streams may close a little before the engine has the status.
            while (status := self.client.api.exec_inspect(made)["ExitCode"]) is None and time.monotonic() < deadline:
                time.sleep(0.01)
            return Ran(UNENDED if status is None else int(status), output_text(output.said))

    @contextlib.contextmanager
    def follow(self, container: str, command: Sequence[str]) -> Iterator[Output]:
        """Start a command in a container; yield what it prints.

        The command is not ended with this: it has to end by itself, or with its container.
        """
        with errors():
            made = self.client.api.exec_create(container, list(command))["Id"]
            with command_stream(self.client, made) as (reader, first):
                output = Output(reader.fileno(), first)
                yield output

    @contextlib.contextmanager
    def archive(self, container: str, path: str, *, deadline: float) -> Iterator[Iterator[bytes]]:
        """Yield the tar of a file or a folder in a container. Raises ExportRefused if it is missing."""
        with errors(), self._within(deadline):
            try:
                with archive_pieces(self.client, container, path) as pieces:
                    yield _until(pieces, deadline)
            except NotFound as error:
                if "No such container" in str(error.explanation):
                    raise
                raise ExportRefused(f"The service has no file {path} to export.", code="export_failed") from None

    def stop(self, container: str, seconds: int) -> None:
        """Let a container end, and kill it after so many seconds."""
        with errors(), self._within(time.monotonic() + seconds + 30):
            self.client.api.stop(container, timeout=seconds)

    def commit(self, container: str, repository: str, tag: str, labels: Mapping[str, str]) -> str:
        """Make an image of a container; return its content id."""
        with errors(), self._within(time.monotonic() + 300):
            return str(self.client.api.commit(container, repository, tag, conf={"Labels": dict(labels)})["Id"])

    def remove(self, container: str) -> None:
        """Kill and remove a container."""
        with errors():
            remove(self.client, container)

    def sweep(self, label: str, value: str, *, last: str) -> None:
        """Remove all containers with a label, the one whose name ends with `last` at the end; twice if that fails."""
        for is_last_try in (False, True):
            try:
                with errors():
                    found = self.client.api.containers(all=True, filters={"label": f"{label}={value}"})
                    found.sort(key=lambda each: any(name.endswith(last) for name in each["Names"]))
                    for each in found:
                        remove(self.client, each["Id"])
            except PlatformFault:
                if is_last_try:
                    raise
            else:
                return

    @contextlib.contextmanager
    def _within(self, deadline: float) -> Iterator[None]:
        """Let calls take until the deadline, not longer and not shorter."""
        api: Any = self.client.api
        usual = api.timeout
        api.timeout = max(deadline - time.monotonic(), _LEAST_SECONDS)
        try:
            yield
        finally:
            api.timeout = usual


def remove(client: docker.DockerClient, container: str) -> None:
    """Kill and remove a container, unless it is gone or being removed."""
    try:
        client.api.remove_container(container, v=True, force=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != _CONFLICT:
            raise


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """Turn the engine's errors into PlatformFault."""
    try:
        yield
    except ImageNotFound as error:
        raise PlatformFault(f"An image of the package is missing: {error.explanation}", code="image_missing") from None
    except NotFound as error:
        raise PlatformFault(f"A container was removed from outside: {error.explanation}", code="world_lost") from None
    except APIError as error:
        text = str(error.explanation or error)
        code = "disk_full" if "no space left" in text.lower() else REFUSED
        raise PlatformFault(f"The Docker engine refused: {text}", code=code) from None
    except (NoEngine, DockerException, requests.RequestException) as error:
        raise PlatformFault(str(NoEngine()), code="engine_unavailable") from error


class Output:
    """The output of a command on both its streams, of which the end is kept.

    The library's own reader would wait for ever for a command that says nothing.
    """

    def __init__(self, descriptor: int, first: bytes) -> None:
        """first: what was read already."""
        self._descriptor, self._poll = descriptor, select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._raw, self.said, self.is_over = b"", b"", False
        self._take(first)

    def more(self, deadline: float) -> bool:
        """Wait until a monotonic deadline for more; return whether there may be more still."""
        left = deadline - time.monotonic()
        if left <= 0 or self.is_over:
            return False
        if self._poll.poll(left * 1000):
            piece = os.read(self._descriptor, OUTPUT_BYTES)
            self.is_over = not piece
            self._take(piece)
        return not self.is_over

    def _take(self, piece: bytes) -> None:
        self._raw += piece
        while len(self._raw) >= _HEADER_BYTES:
            end = _HEADER_BYTES + int.from_bytes(self._raw[4:_HEADER_BYTES])
            if len(self._raw) < end:
                break
            self.said = (self.said + self._raw[_HEADER_BYTES:end])[-OUTPUT_BYTES:]
            self._raw = self._raw[end:]


def _until(pieces: Iterator[bytes], deadline: float) -> Iterator[bytes]:
    for piece in pieces:
        if time.monotonic() > deadline:
            raise PlatformFault("The export takes too long.", code="export_failed")
        yield piece
