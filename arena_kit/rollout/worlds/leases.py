"""The leases that worlds of one host share: memory, starts at a time, and a locked file that shows that a world has a
worker.

Everything is kept in one folder by locks of the kernel, so that what a dead process held is free at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from arena_kit.errors import PlatformFault
from arena_kit.sandbox.cores import own_folder
from arena_kit.sandbox.lock_file import LockFile, notes_alive

MOST_STARTS = 2
"""Worlds that start at the same time on a host; more of them would only be slower each."""
_POLL_SECONDS = 0.05
_NAME, _MUTEX = "name", "mutex"


class NoRoom(PlatformFault):
    """The host has no memory left for another world now; the work waits. The message lists what is in use."""


class Leases:
    """The leases of worlds in one folder. memory_bytes: what all worlds together may have."""

    def __init__(self, folder: Path, memory_bytes: int) -> None:
        own_folder(folder)
        self._folder, self._memory_bytes = folder, memory_bytes

    @property
    def name(self) -> str:
        """The name of the folder on containers, so that arenas that share an engine leave each other's worlds alone."""
        path = self._folder / _NAME
        with self._mutex():
            if not path.exists():
                # A process that dies while it writes leaves no empty name, which all such arenas would have in common.
                unnamed = path.with_suffix(".new")
                unnamed.write_text(uuid.uuid4().hex)
                unnamed.rename(path)
            return path.read_text()

    def take(self, size: int) -> LockFile:
        """Reserve memory for a world; the lease's token names it. Raises NoRoom."""
        with self._mutex():
            used = self.reserved_bytes()
            if used + size > self._memory_bytes:
                sentence = (
                    f"The world needs {size >> 20} MiB, and {used >> 20} of {self._memory_bytes >> 20} MiB are in use."
                )
                raise NoRoom(sentence, code="no_room")
            return LockFile(self._folder, note=str(size))

    def reserved_bytes(self) -> int:
        """Return the memory that worlds of living workers have reserved."""
        return sum(int(note or 0) for note in notes_alive(self._folder).values())

    def alive(self) -> frozenset[str]:
        """Return the tokens of worlds whose workers live."""
        return frozenset(notes_alive(self._folder))

    @contextlib.contextmanager
    def start(self, deadline: float) -> Iterator[None]:
        """Wait until fewer than MOST_STARTS worlds are starting. deadline: monotonic. Raises PlatformFault."""
        descriptors = [
            os.open(self._folder / f"start-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            for number in range(MOST_STARTS)
        ]
        try:
            while not any(_locked(descriptor) for descriptor in descriptors):
                if time.monotonic() > deadline:
                    raise PlatformFault("Other worlds of this host take too long to start.", code="starts_busy")
                time.sleep(_POLL_SECONDS)
            yield
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    @contextlib.contextmanager
    def _mutex(self) -> Iterator[None]:
        with (self._folder / _MUTEX).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
