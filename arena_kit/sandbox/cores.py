"""Reserves a core for each duel, because waking a process on another core costs more than a move."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from arena_kit.machine import files, processes
from arena_kit.sandbox.base import SandboxError


def own_folder(path: Path) -> None:
    """Make a folder that only this user and root can write to. Raises SandboxError when others own or can write it."""
    path.mkdir(mode=0o711, parents=True, exist_ok=True)
    status = path.lstat()
    is_foreign = status.st_uid != 0 and files.is_of_another(status)
    if not stat.S_ISDIR(status.st_mode) or is_foreign or files.is_open_to_others(status, 0o022):
        raise SandboxError(
            f"{path} belongs to another user, or other users can write to it. Remove it, or set CHANNEL_DIR.",
            code="channel_failed",
        )


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
    allowed = processes.allowed_cores()
    if not allowed:
        return None
    own_folder(folder)
    for core in sorted(allowed) if len(allowed) > 1 else ():
        flags = os.O_RDWR | os.O_CREAT | files.NO_FOLLOW
        lock = os.fdopen(os.open(folder / f"core-{core}.lock", flags, 0o600), "r+")
        if files.lock(lock.fileno()):
            return Core(core, lock)
        lock.close()
    return None


@contextlib.contextmanager
def pinned(core: Core | None) -> Iterator[int | None]:
    """Pin this thread to a core within the block; yield its number, or None without a core."""
    if core is None:
        yield None
        return
    allowed = processes.allowed_cores()
    processes.run_on({core.number})
    try:
        yield core.number
    finally:
        processes.run_on(allowed)


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
