"""A connection between two processes of one machine over its loopback, where they can share no socket in another way.

Any process of the machine can connect to the port, so the first bytes must be a token that only the right one got, in
its environment. It also runs on the Python of images that other people have made, and of players, without arena-kit.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import selectors
import socket
import time
from collections.abc import Callable

WORD = "loopback"
"""The word that stands for a connection where otherwise the number of an inherited socket does."""
VARIABLE = "ARENA_DOOR"
POLL_SECONDS = 0.05
MOST_WAITING = 64
"""At most about this many connections wait to send a token."""
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
        """Return the connection; None when the deadline (monotonic) passes or `alive` returns False first.

        Strangers that connect and send nothing hold up no other connection; the oldest of too many are closed.
        """
        self._listener.setblocking(False)
        waiting: list[socket.socket] = []
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            try:
                while time.monotonic() < deadline:
                    ready = [key.fileobj for key, _ in selector.select(POLL_SECONDS)]
                    if not ready and not alive():
                        return None
                    if self._listener in ready:
                        with contextlib.suppress(OSError):
                            waiting.append(self._listener.accept()[0])
                            selector.register(waiting[-1], selectors.EVENT_READ)
                    sent = [wire for wire in waiting if wire in ready]
                    for wire in sent or waiting[:-MOST_WAITING]:
                        selector.unregister(wire)
                        waiting.remove(wire)
                        if self._is_right(wire):
                            return wire
                        wire.close()
            finally:
                for wire in waiting:
                    wire.close()
        return None

    def _is_right(self, wire: socket.socket) -> bool:
        """Return whether a connection has sent the token, which arrives in one piece; then it is ready for use."""
        with contextlib.suppress(OSError):
            wire.setblocking(False)
            if hmac.compare_digest(wire.recv(_TOKEN_BYTES), self._token.encode()):
                wire.setblocking(True)
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return True
        return False


def connect() -> socket.socket:
    """Connect to the door that the environment names, and forget it. Raises OSError."""
    port, token = os.environ.pop(VARIABLE).split()
    wire = socket.create_connection(("127.0.0.1", int(port)))
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire.sendall(token.encode())
    return wire
