"""Waiting for connections, and for those that only some systems have."""

from __future__ import annotations

import select
import socket
import sys
import time

POLLIN: int = getattr(select, "POLLIN", 1)
POLLOUT: int = getattr(select, "POLLOUT", 4)


def knock(path: str, seconds: float) -> None:
    """Connect to a Unix socket and hang up, where this can be tried. Raises OSError if no process listens."""
    if sys.platform != "win32":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(seconds)
            probe.connect(path)


class SocketPoll:
    """Replaces `select.poll`, for sockets only, by `select.select`, which Windows has, too."""

    def __init__(self) -> None:
        self._wanted: dict[int, int] = {}

    def register(self, descriptor: int, events: int) -> None:
        self._wanted[descriptor] = events

    modify = register

    def unregister(self, descriptor: int) -> None:
        del self._wanted[descriptor]

    def poll(self, milliseconds: float) -> list[tuple[int, int]]:
        read, write = ([one for one, events in self._wanted.items() if events & kind] for kind in (POLLIN, POLLOUT))
        if not self._wanted:
            # Windows refuses to wait for nothing.
            time.sleep(milliseconds / 1000)
            return []
        readable, writable, _ = select.select(read, write, [], milliseconds / 1000)
        found = dict.fromkeys(readable, POLLIN)
        for descriptor in writable:
            found[descriptor] = found.get(descriptor, 0) | POLLOUT
        return list(found.items())


if sys.platform == "win32":
    Poll = SocketPoll
else:
    Poll = select.poll
