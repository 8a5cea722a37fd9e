"""A player's place in one duel: the wire to it, and how it ended."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from arena_kit.errors import PlatformFault
from arena_kit.sandbox.base import EXIT_SECONDS, Host
from arena_kit.sandbox.ending import Ending


@dataclass(frozen=True, slots=True)
class EndedProcess:
    """How a duel's process ended, according to the supervisor, and the player's output."""

    ending: Ending
    log: str


class SlotHost(Host, Protocol):
    """A container as its slot uses it."""

    @property
    def container_id(self) -> str:
        """The container's name in the log."""

    def slot(self) -> PlayerSlot:
        """Start a new process of the player and connect its wire. Raises SandboxError and PlayerDidNotStart."""

    def ended(self, wait_seconds: float) -> EndedProcess | None:
        """Return how the running duel ended, or None while it goes on."""

    def stand(self) -> EndedProcess:
        """End the running duel."""

    def raise_if_paused(self) -> None:
        """Raise SandboxError when it was paused from outside."""

    def cpu_seconds(self) -> float | None:
        """Return the CPU time that it has used; None where the host cannot measure it."""

    def throttle(self) -> None:
        """Give the player the processor only while no other process needs it."""


class PlayerSlot:
    """A player's process for one duel."""

    on_close: Callable[[Host], None]
    """Called with the container when the duel is over."""

    def __init__(self, host: SlotHost, wire: socket.socket) -> None:
        self._host, self.wire = host, wire
        self._ended: EndedProcess | None = None
        self._is_closed = False
        self.on_close = lambda host: host.close()

    @property
    def why_cold(self) -> str:
        return self._host.why_cold

    @property
    def container_id(self) -> str:
        return self._host.container_id

    def ending(self) -> Ending:
        if self._ended is None:
            self._ended = self._host.ended(wait_seconds=EXIT_SECONDS)
        return Ending.RUNNING if self._ended is None else self._ended.ending

    def raise_if_paused(self) -> None:
        self._host.raise_if_paused()

    def log(self) -> str:
        return "" if self._ended is None else self._ended.log

    def cpu_seconds(self) -> float | None:
        return self._host.cpu_seconds()

    def throttle(self) -> None:
        self._host.throttle()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self.wire.close()
        try:
            if self._ended is None:
                # An error does not matter here: callers ask who was at fault before they close the slot.
                with contextlib.suppress(PlatformFault):
                    self._ended = self._host.stand()
        finally:
            self.on_close(self._host)


def slot_once(host: SlotHost) -> PlayerSlot:
    """Return a slot in a container that is used for one duel only. Raises SandboxError and PlayerDidNotStart."""
    try:
        return host.slot()
    except BaseException:
        host.close()
        raise
