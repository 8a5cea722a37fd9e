"""The host's side of a running container: orders to its supervisor, and the player's slot in a duel."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from typing import Any, Protocol

from arena_kit.sandbox.base import Launch, PlayerDidNotStart, SandboxError
from arena_kit.sandbox.channel import Channel, Listener
from arena_kit.sandbox.control import Control
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.scripts import plain_output
from arena_kit.sandbox.slots import EndedProcess, PlayerSlot
from arena_kit.text import plain_text

logger = logging.getLogger(__name__)

STAND_SECONDS = 5.0
"""How long a supervisor may take to end a duel: it gives the player a second, then kills the rest and cleans up."""


class Box(Protocol):
    """A container of an engine, or a process, started by a sandbox. id: its name in the log."""

    id: str

    def is_alive(self) -> bool:
        """Return whether it still runs."""

    def ending(self) -> Ending:
        """Return how it ended, as far as is known. Waits at most EXIT_SECONDS for an exit that is under way."""

    def raise_if_paused(self) -> None:
        """Raise SandboxError when it was paused from outside."""

    def cpu_seconds(self) -> float | None:
        """Return the CPU time that it has used; None where the host cannot measure it."""

    def throttle(self) -> None:
        """Give it the processor only while no other process needs it."""

    def bring_forward(self) -> None:
        """Move it to its core to play, after it was started in the background."""

    def remove(self) -> None:
        """Kill everything in it and remove it. May be called twice."""


class PlayerHost:
    """A started container. Its supervisor is the arena's, but a player could take it over, so its messages are trusted
    only about this player."""

    def __init__(
        self, launch: Launch, channel: Channel, start: Callable[[Channel], Box], *, come_up_seconds: float | None = None
    ) -> None:
        """Start it and wait until the player is loaded. Raises PlayerDidNotStart and what `start` raises.

        come_up_seconds: how long the container may take to come up before the player's own time to load begins; None
        where both share the player's time.
        """
        self._limits, self._own_image = launch.limits, launch.own_image
        self._channel = channel
        self._control = Control()
        self._printed = self._printed_while_loaded = ""
        """The output so far, in case the supervisor is lost before it sends the log."""
        self._slots = 0
        self._is_throttled = False
        self.reusable = True
        self.why_cold = ""
        self._is_in_background = launch.in_background
        try:
            listener = self._channel.listen("control.sock")
            try:
                self.box = start(self._channel)
                deadline = time.monotonic() + launch.limits.start_seconds
                up_until = deadline if come_up_seconds is None else time.monotonic() + come_up_seconds
                self._control.connection = listener.accept(up_until, self.box.is_alive)
                if come_up_seconds is not None:
                    deadline = time.monotonic() + launch.limits.start_seconds
            finally:
                listener.close()
            if not self._control.is_open and self._own_image:
                raise self._not_started(None)
            if not self._control.is_open:
                # The supervisor connects before any code of the player runs, so this is a fault of the platform.
                raise SandboxError("The player's container did not come up.", code="container_failed")
            self._loaded(self._message(deadline))
        except BaseException:
            self.close()
            raise

    def slot(self) -> PlayerSlot:
        """Start a new process of the player and connect its wire. Raises SandboxError and PlayerDidNotStart."""
        if (message := self._message(0.0)) is not None or not self._control.is_open:
            raise self._not_started(message)
        if self._is_in_background:
            self._is_in_background = False
            self.box.bring_forward()
        deadline = time.monotonic() + self._limits.start_seconds
        self._slots += 1
        self.reusable = False
        self._printed = self._printed_while_loaded
        name = f"wire-{self._slots}.sock"
        listener = self._channel.listen(name)
        try:
            self._control.send(STAND_SECONDS, do="sit", wire=name)
            return PlayerSlot(self, self._connected(listener, deadline))
        finally:
            listener.close()

    def stand(self, wait_seconds: float = STAND_SECONDS) -> EndedProcess:
        """End the running duel. If the supervisor does not answer in time, the whole container is killed."""
        self._control.send(STAND_SECONDS, do="stand")
        ended = self.ended(wait_seconds)
        return ended if ended is not None else self._gone()

    def ended(self, wait_seconds: float) -> EndedProcess | None:
        """Return how the running duel ended, or None while it goes on."""
        message = self._message(time.monotonic() + wait_seconds)
        if message is not None and message.get("event") == "ended":
            return self._ended(message)
        if message is None and self._control.is_open:
            return None
        return self._gone()

    @property
    def container_id(self) -> str:
        return self.box.id

    def raise_if_paused(self) -> None:
        self.box.raise_if_paused()

    def cpu_seconds(self) -> float | None:
        return self.box.cpu_seconds()

    def throttle(self) -> None:
        """Give the player the processor only while no other process needs it, for the rest of the container's life."""
        self._is_throttled = True
        try:
            self.box.throttle()
        except SandboxError as error:
            # A container that is about to end needs no throttle, and a broken engine is noticed elsewhere.
            logger.warning("A player's container could not be throttled: %s", error)

    def close(self) -> None:
        """Kill everything in it and remove every trace on the host. May be called twice."""
        self.reusable = False
        self._control.close()
        try:
            if (box := getattr(self, "box", None)) is not None:
                box.remove()
        finally:
            self._channel.close()

    # --- Messages of the supervisor -------------------------------------------------------------------------

    def _loaded(self, message: dict[str, Any] | None) -> None:
        if message is None or message.get("event") != "loaded":
            raise self._not_started(message)
        self._printed_while_loaded = self._printed
        if message.get("warm") is not True:
            self.why_cold = plain_text(str(message.get("why")))[:200] or "unknown"
        elif self._own_image:
            self.why_cold = "its image is its own"

    def _connected(self, listener: Listener, deadline: float) -> socket.socket:
        """Return the player's wire; stop waiting when the supervisor reports that the process has ended."""
        ended: list[dict[str, Any]] = []

        def alive() -> bool:
            if (message := self._message(0.0)) is not None:
                ended.append(message)
            return not ended and self._control.is_open

        wire = listener.accept(deadline, alive)
        if wire is None:
            raise self._not_started(ended[0] if ended else None)
        return wire

    def _not_started(self, message: dict[str, Any] | None) -> PlayerDidNotStart:
        if message is None and self._control.is_open and self.box.is_alive():
            self.box.raise_if_paused()
            # The player hangs. Its supervisor has the output so far and sends it on `stand`.
            self._control.send(STAND_SECONDS, do="stand")
            message = self._message(time.monotonic() + STAND_SECONDS)
            log = self._ended(message).log if message is not None else ""
            sentence = f"It was not ready within {self._limits.start_seconds:g} s."
            return PlayerDidNotStart(sentence, log=log, ending=Ending.RUNNING)
        ended = self._ended(message) if message is not None else self._gone()
        return PlayerDidNotStart("It ended before it was ready: see its log.", log=ended.log, ending=ended.ending)

    def _ended(self, message: dict[str, Any]) -> EndedProcess:
        log = self._text(message.get("log", ""))
        self.reusable = message.get("clean") is True and not self.why_cold and not self._is_throttled
        if message.get("oom") is True:
            return EndedProcess(Ending.OUT_OF_MEMORY, log)
        return EndedProcess(Ending.KILLED if message.get("status") in (None, -9) else Ending.EXITED, log)

    def _gone(self) -> EndedProcess:
        """Return how the player ended after its supervisor is lost, which counts as the player's fault.

        Raises SandboxError only when the engine reports that the container was killed from outside. Otherwise a player
        that finds a way to end its supervisor could take back its losses.
        """
        log = self._text(self._printed)
        try:
            ending = self.box.ending()
        finally:
            self.close()
        if ending is Ending.KILLED_FROM_OUTSIDE:
            raise SandboxError("The container was killed from outside.", code="container_killed")
        return EndedProcess(Ending.KILLED if ending is Ending.RUNNING else ending, log)

    def _message(self, deadline: float) -> dict[str, Any] | None:
        """Return the supervisor's next message; None after the deadline (monotonic), or when the control is closed."""
        while (message := self._control.message(deadline)) is not None and message.get("event") == "printed":
            self._printed = self._text(self._printed + str(message.get("text")))
        return message

    def _text(self, printed: object) -> str:
        """Return output as plain text, within the log's limit and room for the mark of a cut."""
        return plain_output(str(printed))[: self._limits.log_limit_bytes + 256]
