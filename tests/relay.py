"""Carries a loopback address of this machine into the network of another process, which has none of its own.

As a program (`python relay.py PORT SOCKET`), in that network: listens on 127.0.0.1:PORT and passes connections on to a
Unix socket. `relayed` serves that socket here.
"""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

SIOCSIFFLAGS, IFF_UP = 0x8914, 1
PIECE_BYTES = 1 << 16


@contextlib.contextmanager
def relayed(port: int, *, pid: int, folder: Path) -> Iterator[None]:
    """Let the processes in the network of `pid` reach 127.0.0.1:PORT of this one. folder: for a socket."""
    path = folder / "relay.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(64)
        serve = threading.Thread(target=_accept, args=(listener, lambda: socket.create_connection(("127.0.0.1", port))))
        serve.start()
        command = ["nsenter", f"--net=/proc/{pid}/ns/net", sys.executable, __file__, str(port), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as inside:
            try:
                assert inside.stdout is not None
                assert inside.stdout.readline() == "ready\n"
                yield
            finally:
                inside.terminate()
                # Wakes the thread, which is in accept().
                listener.shutdown(socket.SHUT_RDWR)
                serve.join()


def _accept(listener: socket.socket, connect: Callable[[], socket.socket]) -> None:
    while True:
        try:
            one, _ = listener.accept()
        except OSError:
            return
        try:
            other = connect()
        except OSError:
            one.close()
            continue
        threading.Thread(target=_both_ways, args=(one, other), daemon=True).start()


def _both_ways(one: socket.socket, other: socket.socket) -> None:
    with one, other:
        back = threading.Thread(target=_copy, args=(other, one), daemon=True)
        back.start()
        _copy(one, other)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE_BYTES):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def main(port: int, path: str) -> None:
    """Serve until the process is ended."""
    with socket.socket() as listener:
        # A new network has its loopback switched off.
        fcntl.ioctl(listener, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
        print("ready", flush=True)

        def connect() -> socket.socket:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.connect(path)
            return made

        _accept(listener, connect)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
