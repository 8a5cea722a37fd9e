"""A command in a container of a pod, over the WebSocket of `pods/exec`: what it prints, its input and its status."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

from arena_kit.errors import PlatformFault
from arena_kit.rollout.worlds.containers import OUTPUT_BYTES, UNENDED

INPUT, OUTPUT, ERRORS, STATUS = 0, 1, 2, 3
"""Channels of the protocol v4.channel.k8s.io: the first byte of each frame."""
INPUT_BYTES = 16 << 10
"""Of one frame that is sent."""
SEND_SECONDS = 30.0
PING_SECONDS = 20.0
"""Proxies before a cluster's API end connections on which nothing is said for about a minute."""
LEAST_SECONDS = 0.001


class Stream:
    """The command's connection, for one thread. status: of the command once it is over, UNENDED before and if unknown.

    The command gets no signal when this is closed; one that reads its input sees its end.
    """

    def __init__(self, connection: Any, errors: tuple[type[BaseException], ...], late: type[BaseException]) -> None:
        """connection: of the package websocket-client. errors: what it raises. late: raised after its time-out."""
        self.connection, self._errors, self._late = connection, errors, late
        self.is_over, self.status, self._told = False, UNENDED, b""
        self._spoken_at = time.monotonic()

    def fileno(self) -> int:
        """Return the descriptor that can be waited for. `pending` says what has arrived already."""
        return int(self.connection.sock.fileno())

    def pending(self) -> bool:
        """Return whether a part of the next frame was read already, so that its descriptor may stay silent."""
        read = getattr(self.connection.sock, "pending", lambda: 0)()
        return bool(read) or bool(self.connection.frame_buffer.recv_buffer)

    def take(self, deadline: float) -> tuple[int, bytes]:
        """Return the channel and the content of the next frame; nothing after a monotonic deadline, or at the end."""
        while not self.is_over and (left := deadline - time.monotonic()) > 0:
            self.keep()
            self.connection.settimeout(max(min(left, PING_SECONDS), LEAST_SECONDS))
            try:
                code, frame = self.connection.recv_data_frame(True)
            except self._late:
                continue
            except self._errors:
                self._end()
                break
            if code == CLOSE:
                self._end()
            elif code in (TEXT, BINARY) and frame.data:
                channel, data = frame.data[0], bytes(frame.data[1:])
                if channel == STATUS:
                    self._told = (self._told + data)[:OUTPUT_BYTES]
                elif data:
                    return channel, data
        return OUTPUT, b""

    def send(self, data: bytes) -> None:
        """Write to the command's input. Raises PlatformFault."""
        try:
            self.connection.settimeout(SEND_SECONDS)
            for start in range(0, len(data), INPUT_BYTES):
                self.connection.send(bytes([INPUT]) + data[start : start + INPUT_BYTES], opcode=BINARY)
        except self._errors as error:
            raise PlatformFault(f"A command in a pod takes no input: {error!r}"[:300], code="world_lost") from None
        finally:
            self._spoken_at = time.monotonic()

    def keep(self) -> None:
        """Say something after PING_SECONDS of silence. Whether the connection is lost, `take` finds out."""
        if time.monotonic() - self._spoken_at >= PING_SECONDS:
            self._spoken_at = time.monotonic()
            with contextlib.suppress(*self._errors):
                self.connection.settimeout(SEND_SECONDS)
                self.connection.ping()

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(*self._errors):
            self.connection.close(timeout=0)
        with contextlib.suppress(*self._errors):
            self.connection.shutdown()

    def _end(self) -> None:
        self.is_over = True
        self.status = status_of(self._told)


CLOSE, TEXT, BINARY = 8, 1, 2
"""Kinds of frames of a WebSocket."""


def status_of(told: bytes) -> int:
    """Return the exit status in the last message about a command; UNENDED if it does not say one."""
    try:
        found = json.loads(told)
        if found["status"] == "Success":
            return 0
        causes = found["details"]["causes"]
        return next(int(cause["message"]) for cause in causes if cause["reason"] == "ExitCode")
    except (ValueError, KeyError, TypeError, StopIteration):
        return UNENDED


class Output:
    """What a command prints on both its streams, of which the end is kept."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self.said = stream, b""

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        return self._stream.is_over

    def more(self, deadline: float) -> bool:
        """Wait until a monotonic deadline for more; return whether there may be more still."""
        if deadline <= time.monotonic():
            return False
        _, data = self._stream.take(deadline)
        self.said = (self.said + data)[-OUTPUT_BYTES:]
        return not self.is_over
