"""The host's end of the connection to a container's supervisor, with one JSON object per line in both directions."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from typing import Any

LINE_BYTES = 4 << 20


class Control:
    """Sends orders to a supervisor and reads its messages. A line that is not a message closes the connection."""

    def __init__(self) -> None:
        self.connection: socket.socket | None = None
        """None before the supervisor connects and after it is lost."""
        self._rest = b""

    @property
    def is_open(self) -> bool:
        """Whether the supervisor is connected, as far as is known."""
        return self.connection is not None

    def send(self, wait_seconds: float, **command: str) -> None:
        """Send an order. An error is ignored here, because the next `message` finds the connection closed."""
        if self.connection is not None:
            with contextlib.suppress(OSError):
                self.connection.settimeout(wait_seconds)
                self.connection.sendall(json.dumps(command).encode() + b"\n")

    def message(self, deadline: float) -> dict[str, Any] | None:
        """Return the next message, or None when the deadline (monotonic) passes or the connection is closed."""
        while self.connection is not None:
            line, found, rest = self._rest.partition(b"\n")
            if found:
                self._rest = rest
                with contextlib.suppress(ValueError, RecursionError):
                    message = json.loads(line)
                    if isinstance(message, dict):
                        return message
                self.close()
                return None
            try:
                self.connection.settimeout(max(0.0, deadline - time.monotonic()))
                data = self.connection.recv(1 << 16)
            except (TimeoutError, BlockingIOError):
                return None
            except OSError:
                data = b""
            self._rest += data
            if not data or len(self._rest) > LINE_BYTES:
                self.close()
        return None

    def close(self) -> None:
        """Close the connection. May be called twice."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()
