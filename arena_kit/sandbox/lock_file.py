"""A worker's sign of being alive, which the kernel takes down when the worker dies: a locked file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import uuid
from pathlib import Path

from arena_kit.sandbox.channel import own_folder

PREFIX, SUFFIX = "worker-", ".lock"


class Presence:
    """Holds a lock as long as this process lives. token: names this worker on its containers.

    folder: the same for all workers that share an engine.
    """

    def __init__(self, folder: Path) -> None:
        own_folder(folder)
        self.token = uuid.uuid4().hex
        self._path = folder / f"{PREFIX}{self.token}{SUFFIX}"
        # Locked before it has its name: who looks in between would take its worker for dead.
        unnamed = folder / f".{self.token}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(unnamed, flags, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        unnamed.rename(self._path)

    def end(self) -> None:
        """The worker is about to end by itself."""
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def tokens_alive(folder: Path) -> frozenset[str]:
    """Tokens of the workers that live; the files of dead ones are removed."""
    alive = []
    for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                alive.append(path.name.removeprefix(PREFIX).removesuffix(SUFFIX))
            else:
                path.unlink(missing_ok=True)
    return frozenset(alive)
