"""The host's side of the folder, with sockets in it, that a container shares with the runner."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from arena_kit.folders import OwnFolder, remove_abandoned
from arena_kit.sandbox.base import SandboxError
from arena_kit.sandbox.cores import own_folder

PREFIX = "c-"
POLL_SECONDS = 0.02
MOST_PATH = 103
"""The most bytes of a socket's path that macOS takes; Linux takes 107."""
MOST_NAME = len("/c-12345678/wire-123456.sock")
LOOK_SECONDS = 0.2
"""Seconds between two checks whether the container that should connect still runs."""


def short_folder(parent: Path) -> Path:
    """Return the folder, or a short one of this user if the paths of sockets in this one would be too long.

    Folders for temporary files are long on macOS, and in builds and tests everywhere.
    """
    if len(os.fsencode(parent.absolute())) + MOST_NAME <= MOST_PATH:
        return parent
    short = Path("/tmp") / f"arena-{os.getuid()}"  # noqa: S108  (`own_folder` refuses one of another user)
    remove_abandoned(short, PREFIX)
    return short


class Listener:
    """A Unix socket in a channel's folder that takes one connection."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(str(path))
            path.chmod(0o666)
            self._socket.listen(1)
        except OSError:
            self._socket.close()
            raise

    def accept(self, deadline: float, alive: Callable[[], bool]) -> socket.socket | None:
        """Return the connection, or None when the deadline (monotonic) passes or `alive` returns False first."""
        self._socket.settimeout(POLL_SECONDS)
        next_look = 0.0
        while (now := time.monotonic()) < deadline:
            try:
                return self._socket.accept()[0]
            except TimeoutError:
                if now >= next_look:
                    if not alive():
                        return None
                    next_look = now + LOOK_SECONDS
        return None

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)


class Channel:
    """The folder of one container.

    Other users of the host cannot find its sockets, because they cannot list the parent folder and the names are
    random. The container sees only its own folder.
    """

    def __init__(self, parent: Path) -> None:
        with _as_channel_failure(parent):
            own_folder(parent)
            self._own = OwnFolder(parent, PREFIX, mode=0o755)
        self.folder = self._own.path

    def listen(self, name: str) -> Listener:
        """Listen for one connection of the container. Raises SandboxError."""
        with _as_channel_failure(self.folder.parent):
            return Listener(self.folder / name)

    def close(self) -> None:
        self._own.close()


def remove_abandoned_channels(parent: Path) -> None:
    """Remove the channels of processes that were killed."""
    remove_abandoned(parent, PREFIX)


@contextlib.contextmanager
def _as_channel_failure(parent: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SandboxError(
            f"The channel folder {parent} cannot be used: {error.strerror or error}.", code="channel_failed"
        ) from None
