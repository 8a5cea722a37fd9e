"""Listens on a Unix socket for one connection, and passes its bytes to the standard streams and back.

It writes L once it listens and C once it is connected; what follows is the connection's. It ends with either side.
"""

import os
import pathlib
import select
import socket
import sys
import threading

PIECE_BYTES = 1 << 16


def say(data: bytes) -> None:
    """Write all of it."""
    while data:
        data = data[os.write(1, data) :]


def hand_on(connection: socket.socket) -> None:
    """Send what arrives, and end all of it when nothing more will."""
    try:
        while data := os.read(0, PIECE_BYTES):
            connection.sendall(data)
    except OSError:
        pass
    os._exit(0)


def main(path: pathlib.Path) -> None:
    """Relay one connection."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path.unlink(missing_ok=True)
    listener.bind(str(path))
    path.chmod(0o666)
    listener.listen(1)
    say(b"L")
    # Nothing is sent before the connection is there, so what can be read here is the end.
    ready = select.select([listener.fileno(), 0], [], [])[0]
    if listener.fileno() not in ready:
        path.unlink()
        return
    connection = listener.accept()[0]
    listener.close()
    path.unlink()
    say(b"C")
    threading.Thread(target=hand_on, args=[connection], daemon=True).start()
    try:
        while data := connection.recv(PIECE_BYTES):
            say(data)
    except OSError:
        pass
    os._exit(0)


main(pathlib.Path(sys.argv[1]))
