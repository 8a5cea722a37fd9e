"""A locked file that shows that a worker is alive; the kernel releases the lock when the worker dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
import uuid
from pathlib import Path

from arena_kit.sandbox.cores import own_folder

PREFIX, SUFFIX = "worker-", ".lock"
UNNAMED = f".{'[0-9a-f]' * 32}"
"""Files of workers that are about to begin, or have died before they had."""


class LockFile:
    """Holds a worker's lock until the process ends.

    token: identifies this worker on its containers. folder: the folder of the lock files, shared by all workers that
    use the same engine. note: what others may read about it while it is alive.
    """

    def __init__(self, folder: Path, *, note: str = "") -> None:
        own_folder(folder)
        self.token = uuid.uuid4().hex
        self._path = folder / f"{PREFIX}{self.token}{SUFFIX}"
        # The lock comes before the final name: `tokens_alive` would take the worker of an unlocked file for dead.
        unnamed = folder / f".{self.token}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        while True:
            self._descriptor = os.open(unnamed, flags, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            os.write(self._descriptor, note.encode())
            try:
                unnamed.rename(self._path)
            except FileNotFoundError:
                # It was swept before it was locked, as that of a dead worker.
                os.close(self._descriptor)
            else:
                return

    def end(self) -> None:
        """Remove the file and release the lock, when the worker ends normally."""
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def tokens_alive(folder: Path) -> frozenset[str]:
    """Return the tokens of the workers that are alive, and remove the files of dead ones."""
    return frozenset(notes_alive(folder))


def notes_alive(folder: Path) -> dict[str, str]:
    """Return the notes of the workers that are alive, by token, and remove the files of dead ones."""
    alive = {}
    for path in (*folder.glob(f"{PREFIX}*{SUFFIX}"), *folder.glob(UNNAMED)):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                if path.name.startswith(PREFIX):
                    alive[path.name.removeprefix(PREFIX).removesuffix(SUFFIX)] = lock.read().decode()
            else:
                path.unlink(missing_ok=True)
    return alive
