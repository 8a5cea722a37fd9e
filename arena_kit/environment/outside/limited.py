"""Limited processes for code from outside: a session of their own, a clean environment, bounds on time and memory.

A process gets one end of a socket, or connects over loopback, and talks through that alone: what it prints is lost, and
when the other end is closed it is to end. It is killed with everything that it started and that has not left its
session.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from arena_kit.machine import loopback, processes

MEMORY_BYTES = 4 << 30
"""Limit on the address space, of which libraries reserve much more than they use."""
FILE_BYTES = 16 << 20
PROCESSES = 64
"""Where the kernel counts them by user namespace."""
CONNECT_SECONDS = 30.0
"""How long a process may take to start and connect, where it inherits no socket."""
LATE = (BlockingIOError, TimeoutError)
"""The ends of a wait for the wire that took too long."""
PARENT_SECONDS = 1.0
"""Seconds between two looks of a process at whether its parent still runs."""
MOST_EXCUSED = 10
"""At least this part of the wall time counts, however busy the machine is."""
ROOT = Path(__file__).resolve().parents[3]
KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
"""Variables that a process inherits; the arena's own may hold passwords."""


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


Started = Callable[[str, Sequence[int], Mapping[str, str]], subprocess.Popen[bytes]]
"""Starts the process: with the word by which it finds its wire, the descriptors that it inherits, and variables."""


def _over_pair(started: Started) -> socket.socket:
    """Start the process and return our end of a pair of sockets, of which it inherits the other one."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            started(str(theirs.fileno()), (theirs.fileno(),), {})
        except OSError:
            ours.close()
            raise
    return ours


def _over_loopback(started: Started) -> socket.socket:
    """Start the process and return the connection that it makes. Raises OSError."""
    with contextlib.closing(loopback.Door()) as door:
        process = started(loopback.WORD, (), door.variables)
        wire = door.accept(time.monotonic() + CONNECT_SECONDS, lambda: process.poll() is None)
        if wire is None:
            processes.tree_end(process)
            raise ConnectionRefusedError("it did not connect")
    return wire


def wire_of(word: str) -> socket.socket:
    """Return the wire of this process, which its first argument names."""
    return loopback.connect() if word == loopback.WORD else socket.socket(fileno=int(word))


class Limited:
    """A running limited process, and our end of the socket."""

    def __init__(self, module: str, *arguments: str, hash_seed: str = "0") -> None:
        """module: what runs it, as `python -m module WIRE PARENT *arguments`. Raises OSError."""
        variables = {
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
            "PYTHONHASHSEED": hash_seed,
            # Threads of libraries would count against the limits, and play no match faster.
            **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
            **{name: os.environ[name] for name in KEPT if name in os.environ},
        }

        def started(wire: str, passed: Sequence[int], more: Mapping[str, str]) -> subprocess.Popen[bytes]:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, wire, str(os.getpid()), *arguments],
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=processes.child_variables({**variables, **more}),
                cwd="/",
                **processes.apart(),
            )
            return self._process

        self.wire = _over_loopback(started) if processes.WINDOWS else _over_pair(started)

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return not processes.has_ended(self._process)

    def limit_waiting(self, seconds: float) -> None:
        """Let every wait for the wire end in LATE after this time, where possible without a system call of its own."""
        if processes.WINDOWS:
            self.wire.settimeout(seconds)
            return
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
        processes.tree_end(self._process)
        self._process.wait()

    @property
    def status(self) -> int | None:
        """The exit status, known after `kill`; below 0 the signal that ended it."""
        return self._process.returncode


def confine(parent: int, *, processor_seconds: int = 0) -> None:
    """Limit this process, before it loads anything from outside. parent: the process that started it.

    processor_seconds: limit on its processor time; 0 for none.
    """
    # Where the kernel allows it: no network, and processes counted apart from those of the same user.
    if processes.unshare():
        processes.limit("NPROC", PROCESSES)
    processes.limit("AS", MEMORY_BYTES)
    processes.limit("FSIZE", FILE_BYTES)
    processes.limit("CORE", 0)
    if processor_seconds:
        processes.limit("CPU", processor_seconds)
    # On Windows the parent may be the launcher of a virtual environment; the end of the wire ends the process there.
    if not processes.WINDOWS:
        threading.Thread(target=_end_with, args=(parent, os.getpid()), daemon=True).start()


def _end_with(parent: int, own: int) -> None:
    """End this process and what it started once its parent has gone."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    processes.tree_end_from_within(own)
