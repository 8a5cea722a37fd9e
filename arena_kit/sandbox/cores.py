"""Reserves a core for each duel, because waking a process on another core costs more than a move."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from arena_kit.sandbox.channel import own_folder


class Core:
    """A core that is reserved for one duel on this host until it is released."""

    def __init__(self, number: int, lock: IO[str]) -> None:
        self.number, self._lock = number, lock

    def release(self) -> None:
        """Release the core."""
        self._lock.close()


def reserve_core(folder: Path) -> Core | None:
    """Reserve a core of this host; return None when all are taken, or when the host has only one.

    folder: the folder of the lock files, shared by all workers of the host.
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
    """Pin this thread to a core within the block; yield its number, or None without a core."""
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
    """Reserve a core and pin this thread to it within the block; yield its number, or None when all are taken."""
    core = reserve_core(folder)
    try:
        with pinned(core) as number:
            yield number
    finally:
        if core is not None:
            core.release()
