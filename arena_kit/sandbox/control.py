"""The host's end of the connection to a container's supervisor: a JSON object a line, in both directions."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from typing import Any

LINE_BYTES = 4 << 20


class Control:
    """Orders to a supervisor, and what it says. What is not a line of the protocol ends the connection."""

    def __init__(self) -> None:
        self.connection: socket.socket | None = None
        """None before the supervisor has come and after it has gone."""
        self._rest = b""

    @property
    def is_open(self) -> bool:
        """Whether there is a supervisor, as far as is known."""
        return self.connection is not None

    def send(self, wait_seconds: float, **command: str) -> None:
        """Give an order; one that does not go through shows soon enough."""
        if self.connection is not None:
            with contextlib.suppress(OSError):
                self.connection.settimeout(wait_seconds)
                self.connection.sendall(json.dumps(command).encode() + b"\n")

    def message(self, deadline: float) -> dict[str, Any] | None:
        """The next message; None when there is none in time (monotonic seconds), or the connection is closed."""
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
        """Hang up. May be called twice."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()
