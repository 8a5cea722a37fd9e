"""A connection between two processes of one machine over its loopback, where they can share no socket in another way.

Any process of the machine can connect to the port, so the first bytes must be a token that only the right one got, in
its environment. It also runs on the Python of images that other people have made, and of players, without arena-kit.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import socket
import time
from collections.abc import Callable

WORD = "loopback"
"""The word that stands for a connection where otherwise the number of an inherited socket does."""
VARIABLE = "ARENA_DOOR"
POLL_SECONDS = 0.05
TOKEN_SECONDS = 5.0
_TOKEN_BYTES = 32


class Door:
    """A port of the loopback through which the process with the token is let in."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(_TOKEN_BYTES // 2)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.variables = {VARIABLE: f"{self._listener.getsockname()[1]} {self._token}"}
        """The variables that let a process in."""

    def close(self) -> None:
        self._listener.close()

    def accept(self, deadline: float, alive: Callable[[], bool]) -> socket.socket | None:
        """Return the connection; None when the deadline (monotonic) passes or `alive` returns False first."""
        self._listener.settimeout(POLL_SECONDS)
        while time.monotonic() < deadline:
            try:
                wire, _ = self._listener.accept()
            except TimeoutError:
                if not alive():
                    return None
                continue
            with contextlib.suppress(OSError):
                wire.settimeout(TOKEN_SECONDS)
                if hmac.compare_digest(_received(wire), self._token.encode()):
                    wire.settimeout(None)
                    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    return wire
            wire.close()
        return None


def _received(wire: socket.socket) -> bytes:
    data = b""
    while len(data) < _TOKEN_BYTES and (piece := wire.recv(_TOKEN_BYTES - len(data))):
        data += piece
    return data


def connect() -> socket.socket:
    """Connect to the door that the environment names, and forget it. Raises OSError."""
    port, token = os.environ.pop(VARIABLE).split()
    wire = socket.create_connection(("127.0.0.1", int(port)))
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire.sendall(token.encode())
    return wire
