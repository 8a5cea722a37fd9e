"""Passes open files between processes over a Unix socket, as `socket.send_fds` does since Python 3.9."""

from __future__ import annotations

import socket
from array import array


def send(connection: socket.socket, data: bytes, passed: list[int]) -> None:
    """Send bytes, and open files with them. Raises OSError."""
    about = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", passed))] if passed else []
    connection.sendmsg([data], about)


def receive(connection: socket.socket, size: int, most: int) -> tuple[bytes, list[int]]:
    """Return at most `size` bytes, and the open files, at most `most`, that came with them. Raises OSError."""
    passed = array("i")
    data, about, _, _ = connection.recvmsg(size, socket.CMSG_LEN(most * passed.itemsize))
    for level, kind, content in about:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            passed.frombytes(content[: len(content) - len(content) % passed.itemsize])
    return data, list(passed)
