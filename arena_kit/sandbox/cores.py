"""One duel, one core: a wake-up across cores costs more than a move."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from arena_kit.sandbox.channel import own_folder


class Core:
    """A core that no other duel on this host uses, reserved until it is given back."""

    def __init__(self, number: int, lock: IO[str]) -> None:
        self.number, self._lock = number, lock

    def release(self) -> None:
        """Give it back."""
        self._lock.close()


def reserve_core(folder: Path) -> Core | None:
    """Reserve a core of this host; None when all are taken, or there is nothing to choose.

    folder: where the lock files are kept; the same for all workers of the host.
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    own_folder(folder)
    allowed = os.sched_getaffinity(0)
    for core in sorted(allowed) if len(allowed) > 1 else ():
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.fdopen(os.open(folder / f"core-{core}.lock", flags, 0o600), "r+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        return Core(core, lock)
    return None


@contextlib.contextmanager
def pinned(core: Core | None) -> Iterator[int | None]:
    """Move this thread to a core for a while; its number, None without one."""
    if core is None:
        yield None
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core.number})
    try:
        yield core.number
    finally:
        os.sched_setaffinity(0, allowed)


@contextlib.contextmanager
def free_core(folder: Path) -> Iterator[int | None]:
    """Reserve a core for one duel and move this thread to it; None when all are taken."""
    core = reserve_core(folder)
    try:
        with pinned(core) as number:
            yield number
    finally:
        if core is not None:
            core.release()
