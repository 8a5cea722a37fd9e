"""The host's end of the connection to a container's supervisor, with one JSON object per frame in both directions."""

from __future__ import annotations

import contextlib
import socket
import time
from typing import Any

from arena_kit.frames import MESSAGE, BadFrame, Splitter, pack_data, unpack_data

MOST_BYTES = 4 << 20


class Control:
    """Sends orders to a supervisor and reads its messages. What is no message closes the connection."""

    def __init__(self) -> None:
        self.connection: socket.socket | None = None
        """None before the supervisor connects and after it is lost."""
        self._arrived = Splitter(MOST_BYTES)

    @property
    def is_open(self) -> bool:
        """Return whether the supervisor is connected, as far as is known."""
        return self.connection is not None

    def send(self, wait_seconds: float, **command: str) -> None:
        """Send an order. An error is ignored here, because the next `message` finds the connection closed."""
        if self.connection is not None:
            with contextlib.suppress(OSError):
                self.connection.settimeout(wait_seconds)
                self.connection.sendall(pack_data(MESSAGE, command))

    def message(self, deadline: float) -> dict[str, Any] | None:
        """Return the next message, or None when the deadline (monotonic) passes or the connection is closed."""
        while self.connection is not None:
            try:
                if (frame := self._arrived.take()) is not None:
                    message = unpack_data(frame[1])
                    if isinstance(message, dict):
                        return message
                    raise BadFrame("a message is not an object")
                self.connection.settimeout(max(0.0, deadline - time.monotonic()))
                data = self.connection.recv(1 << 16)
            except (TimeoutError, BlockingIOError):
                return None
            except (OSError, BadFrame):
                data = b""
            self._arrived.feed(data)
            if not data:
                self.close()
        return None

    def close(self) -> None:
        """Close the connection. May be called twice."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()
