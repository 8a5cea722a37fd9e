"""A process with all that it starts, which ends with it even in a session of its own, and after it.

On Windows a job holds them. Elsewhere a variable of their environment marks them, which `ps` shows; macOS hides that of
its own programs, and a process that is started without the variable is not found.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from arena_kit.machine import processes

MARK = "ARENA_TREE"
MOST_LOOKS = 50
"""Processes are looked for at most this often, if those that are found go on starting others."""


class Tree(subprocess.Popen[bytes]):
    """A process apart, whose output is read from a pipe."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], place: Path) -> None:
        """variables: its environment. place: its working folder. Raises OSError."""
        token = secrets.token_hex(16)
        pipe, nothing, apart = subprocess.PIPE, subprocess.DEVNULL, processes.apart()
        marked = {**variables, MARK: token}
        super().__init__(command, env=marked, cwd=place, stdin=nothing, stdout=pipe, stderr=subprocess.STDOUT, **apart)
        self._others_end: Callable[[], None] | None = _others_end(self.pid, f"{MARK}={token}".encode())

    def end(self) -> None:
        """End all of it; does not wait for it. May be called twice."""
        processes.tree_end(self)
        end, self._others_end = self._others_end, None
        if end is not None:
            end()


if sys.platform == "win32":
    import ctypes

    def _others_end(pid: int, mark: bytes) -> Callable[[], None]:
        """Let a job hold a process, which has started no other one yet; return what ends all that are in it."""
        kernel, rights = ctypes.WinDLL("kernel32"), 0x0100 | 0x0001  # PROCESS_SET_QUOTA, PROCESS_TERMINATE
        # A handle is as long as a pointer.
        kernel.CreateJobObjectW.restype = kernel.OpenProcess.restype = ctypes.c_void_p
        job = ctypes.c_void_p(kernel.CreateJobObjectW(None, None))
        process = ctypes.c_void_p(kernel.OpenProcess(rights, False, pid))
        kernel.AssignProcessToJobObject(job, process)
        kernel.CloseHandle(process)

        def end() -> None:
            kernel.TerminateJobObject(job, 1)
            kernel.CloseHandle(job)

        return end

else:

    def _others_end(pid: int, mark: bytes) -> Callable[[], None]:
        """Return what ends the processes whose environment has a mark; without `ps` nothing does."""
        words = ["ps", "-A", "e" if processes.LINUX else "-E", "-ww", "-o", "pid=,args="]

        def end() -> None:
            with contextlib.suppress(FileNotFoundError):
                for _ in range(MOST_LOOKS):
                    lines = subprocess.run(words, capture_output=True, check=False).stdout.splitlines()
                    if not (found := [int(line.split()[0]) for line in lines if mark in line]):
                        return
                    for one in found:
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(one, signal.SIGKILL)

        return end
