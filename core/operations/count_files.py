"""Files in which the processes of a machine count together: each has one of its own, any of them can add them up.

prometheus-client names such a file after its process, so that every process leaves one behind: a season of recycled
workers would fill a disk, and each scrape would read it all. Here a file belongs to a slot, which the kernel frees when
its process dies; the next process counts on in it. Nothing is lost, and there are never more files than processes lived
at once. Who comes when nobody lives begins anew, as any restarted program does.
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
"""Where prometheus-client looks for the folder."""


def count_in(folder: Path) -> Path:
    """Let all metrics that are made from now on count in files of this folder; return the folder that is used.

    One that somebody else could write to is not used: then this process counts alone.
    """
    try:
        _own(folder)
    except OSError as error:
        logger.warning("METRICS_DIR cannot be used (%s): the processes of this machine count apart.", error)
        folder = Path(tempfile.mkdtemp(prefix="rl-arena-metrics-"))
    os.environ[VARIABLE] = str(folder)
    make: Callable[[Callable[[], int]], type] = values.MultiProcessValue  # the library gives it no type
    values.ValueClass = make(Slots(folder).number)
    return folder


class Slots:
    """The slot of this process, and after a fork that of the new one. One object for a folder and process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = 0
        self._number = 0

    def number(self) -> int:
        """A number that no other living process has; a dead one's is free again."""
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
        """Hold a slot until this process dies, by the descriptor that is returned; None while another process does."""
        descriptor = os.open(self._folder / f"slot-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # A lock of the process, not of the file: children do not inherit it.
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
        raise PermissionError(f"{folder} belongs to somebody else, or others can write to it")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written to")
