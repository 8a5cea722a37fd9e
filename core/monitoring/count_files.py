"""Metrics files that the processes of a machine share: each process counts in its own, and any process can add them up.

prometheus-client names such a file after its process, and every process leaves one behind: recycled workers would fill
a disk, and each scrape would read all files. Here a file belongs to a slot, which the kernel frees when its process
dies; the next process continues in it. Nothing that was counted is lost (the site counts its answers every tenth of a
second), and there are never more files than processes lived at once. A process that starts while no other lives begins
at zero, as any restarted program does.
"""

from __future__ import annotations

import fcntl
import itertools
import logging
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client import values

logger = logging.getLogger(__name__)

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The variable in which prometheus-client finds the folder."""


def count_in(folder: Path) -> Path:
    """Make all later metrics count in files of this folder; return the folder in use.

    A folder that other users could write to is not used; then this process counts alone.
    """
    try:
        _own(folder)
    except OSError as error:
        logger.warning("METRICS_DIR cannot be used (%s): each process of this machine counts on its own.", error)
        folder = Path(tempfile.mkdtemp(prefix="rl-arena-metrics-"))
    os.environ[VARIABLE] = str(folder)
    make: Callable[[Callable[[], int]], type] = values.MultiProcessValue  # the library gives it no type
    values.ValueClass = make(Slots(folder).number)
    return folder


class Slots:
    """The slot of this process, replaced by a new one after a fork. One object for each folder and process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = 0
        self._number = 0

    def number(self) -> int:
        """Return a number that no other living process has; numbers of dead processes are free again."""
        if self._process != os.getpid():
            self._number = self._take()
            self._process = os.getpid()
        return self._number

    def _take(self) -> int:
        with _locked(self._folder / "lock"):
            known = sorted(int(path.name.removeprefix("slot-")) for path in self._folder.glob("slot-*"))
            held = [(number, self._lock(number)) for number in known]
            free = [(number, descriptor) for number, descriptor in held if descriptor is not None]
            if len(free) == len(held):
                for path in self._folder.glob("*.db"):
                    path.unlink()
            for _, descriptor in free[1:]:
                os.close(descriptor)
            if free:
                return free[0][0]
            number = next(number for number in itertools.count() if number not in known)
            self._lock(number)
            return number

    def _lock(self, number: int) -> int | None:
        """Lock a slot until this process dies, by the returned descriptor; None while another process holds it."""
        descriptor = os.open(self._folder / f"slot-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # A lock of the process, not of the file, because children must not inherit it.
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _own(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(f"{folder} belongs to another user, or others can write to it")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written to")
