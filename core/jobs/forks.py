"""Children that are forks of this process: they begin with everything that it has loaded."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import IO

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_SIGNAL_AT_PARENTS_END = 1
"""PR_SET_PDEATHSIG of prctl(2)."""
_LOOK_SECONDS = 1.0


def end_with_parent(parent: int = 0) -> None:
    """Ask this process to end when its parent does: orphans would run on beside the successors.

    A parent with several threads can send the signal several times. parent: its pid, which shows that it has ended
    before it could be watched; 0 where that is not known.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SIGNAL_AT_PARENTS_END, signal.SIGTERM)
        if parent and os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
    else:
        threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


class Fork:
    """A fork of this process that does `work`, in a session of its own; it has the parts of `subprocess.Popen` in use.

    What it prints comes out of `stdout`. Signals that end a program end it, until `work` decides otherwise. Its exit
    code is 0 once `work` returns, that of a `SystemExit`, and 1 after any other exception.
    """

    _all: weakref.WeakSet[Fork] = weakref.WeakSet()

    def __init__(self, work: Callable[[], None]) -> None:
        ours, theirs = os.pipe()
        self.stdout: IO[str] = os.fdopen(ours, errors="replace")
        self.returncode: int | None = None
        # A signal that arrives before the child has handlers of its own would be taken by those of this process.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        given = (work, theirs, mask, os.getpid())
        try:
            self._process = multiprocessing.get_context("fork").Process(target=self._begin, args=given)
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(theirs)
        assert self._process.pid is not None
        self.pid: int = self._process.pid
        self._all.add(self)

    def _begin(self, work: Callable[[], None], output: int, mask: set[signal.Signals], parent: int) -> None:
        os.setsid()
        for number in (1, 2):
            os.dup2(output, number)
        os.close(output)
        # A pipe that a sibling could still read from would fill up once its reader is dead, and stop all who write.
        for pipe in (self.stdout, *(other.stdout for other in self._all)):
            if not pipe.closed:
                os.close(pipe.fileno())
        for number in ENDING:
            signal.signal(number, signal.SIG_DFL)
        end_with_parent(parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        work()

    def poll(self) -> int | None:
        """Return the exit code, minus the number of the signal that ended it; None while it runs."""
        self.returncode = self._process.exitcode
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended. Raises subprocess.TimeoutExpired after so many seconds."""
        self._process.join(timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0.0)
        return code

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()
