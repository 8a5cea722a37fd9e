"""One duel, one core: a wake-up across cores costs more than a move."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from duel_runner.sandbox.channel import own_folder


@contextlib.contextmanager
def free_core(folder: Path) -> Iterator[int | None]:
    """Reserve a core that no other duel on this host uses, and move this process to it; None when all are taken.

    folder: where the lock files are kept; the same for all workers of the host.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    own_folder(folder)
    allowed = os.sched_getaffinity(0)
    # With a single core there is nothing to choose.
    for core in sorted(allowed) if len(allowed) > 1 else ():
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(folder / f"core-{core}.lock", flags, 0o600), "r+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            os.sched_setaffinity(0, {core})
            try:
                yield core
            finally:
                os.sched_setaffinity(0, allowed)
            return
    yield None
