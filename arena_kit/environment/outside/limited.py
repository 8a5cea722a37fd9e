"""Limited processes for code from outside: a session of their own, a clean environment, bounds on time and memory.

A process gets one end of a socket and talks through it alone: what it prints is lost, and when the other end is closed
it is to end. It is killed with everything that it started and that has not left its session.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

MEMORY_BYTES = 4 << 30
"""Limit on the address space, of which libraries reserve much more than they use."""
FILE_BYTES = 16 << 20
PROCESSES = 64
"""Where the kernel counts them by user namespace."""
PARENT_SECONDS = 1.0
"""Seconds between two looks of a process at whether its parent still runs."""
MOST_EXCUSED = 10
"""At least this part of the wall time counts, however busy the machine is."""
ROOT = Path(__file__).resolve().parents[3]
KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
"""Variables that a process inherits; the arena's own may hold passwords."""
_NEW_NAMESPACES = 0x10000000 | 0x40000000 | 0x08000000  # of users, networks and IPC
_NO_NEW_PRIVILEGES = 38


class Timer:
    """Wall time in which a process could run: what it has waited for a processor on a busy machine does not count."""

    def __init__(self, pid: int) -> None:
        self._pid, self._begun, self._waited = pid, time.monotonic(), _waited(pid)

    def seconds(self) -> float:
        """Return the time since the start, or a tenth of it where nearly all was waiting."""
        wall = time.monotonic() - self._begun
        return max(wall - (_waited(self._pid) - self._waited), wall / MOST_EXCUSED)


def _waited(pid: int) -> float:
    """Return the seconds that the main thread of a process was ready to run and had no processor."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class Limited:
    """A running limited process, and our end of the socket."""

    def __init__(self, module: str, *arguments: str) -> None:
        """module: what runs it, as `python -m module DESCRIPTOR PARENT *arguments`. Raises OSError."""
        ours, theirs = socket.socketpair()
        variables = {name: os.environ[name] for name in KEPT if name in os.environ} | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
            "PYTHONHASHSEED": "0",
            # Threads of libraries would count against the limits, and play no match faster.
            **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
        }
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", module, str(theirs.fileno()), str(os.getpid()), *arguments],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=variables,
                    start_new_session=True,
                    cwd="/",
                )
            except OSError:
                ours.close()
                raise
        self.wire = ours

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        # Asked without taking its status: until `kill` takes it, no other process can get its number.
        if self._process.returncode is not None:
            return False
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:
            return False

    def limit_waiting(self, seconds: float) -> None:
        """Let every wait for the wire end in BlockingIOError after this time, without a system call of its own."""
        whole = int(seconds)
        limit = struct.pack("ll", whole, int((seconds - whole) * 1e6))
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self.wire.setsockopt(socket.SOL_SOCKET, option, limit)

    def read_line(self, seconds: float, most: int) -> tuple[bytes, bool]:
        """Return what the process writes up to the end of a line, and whether it took too long or wrote too much."""
        timer, data = Timer(self.pid), b""
        while (left := seconds - timer.seconds()) > 0 and len(data) <= most:
            self.wire.settimeout(left)
            try:
                piece = self.wire.recv(65536)
            except TimeoutError:
                continue
            except OSError:
                return data, False
            data += piece
            if not piece or piece.endswith(b"\n"):
                return data, False
        return data, True

    def kill(self) -> None:
        """End the process and what it started. May be called twice."""
        self.wire.close()
        if self._process.returncode is not None:
            return  # its number may belong to another process by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    @property
    def status(self) -> int | None:
        """The exit status, known after `kill`; below 0 the signal that ended it."""
        return self._process.returncode


def confine(parent: int, *, processor_seconds: int = 0) -> None:
    """Limit this process, before it loads anything from outside. parent: the process that started it.

    processor_seconds: limit on its processor time; 0 for none.
    """
    own = os.getpid()
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    # Where the kernel allows it: no network, and processes counted apart from those of the same user.
    if library.unshare(_NEW_NAMESPACES) == 0:
        resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))
    _limit(resource.RLIMIT_AS, MEMORY_BYTES)
    _limit(resource.RLIMIT_FSIZE, FILE_BYTES)
    _limit(resource.RLIMIT_CORE, 0)
    if processor_seconds:
        _limit(resource.RLIMIT_CPU, processor_seconds)
    threading.Thread(target=_end_with, args=(parent, own), daemon=True).start()


def _limit(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def _end_with(parent: int, own: int) -> None:
    """End this process and what it started once its parent has gone."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os.killpg(own, signal.SIGKILL)
