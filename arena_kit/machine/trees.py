"""A process with all that it starts, which ends with it even in a session of its own, and after it.

On Windows a job holds them. Elsewhere a variable of their environment marks them, which `ps` shows; macOS hides that of
its own programs, and a process that is started without the variable is not found.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from arena_kit.machine import processes

MARK = "ARENA_TREE"


class Tree(subprocess.Popen[bytes]):
    """A process apart, whose output is read from a pipe."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], place: Path) -> None:
        """variables: its environment. place: its working folder. Raises OSError."""
        token = secrets.token_hex(16)
        pipe, nothing, apart = subprocess.PIPE, subprocess.DEVNULL, processes.apart()
        marked = {**variables, MARK: token}
        super().__init__(command, env=marked, cwd=place, stdin=nothing, stdout=pipe, stderr=subprocess.STDOUT, **apart)
        if sys.platform == "win32":
            # Its Python takes longer to start, and so to start another process.
            self._others = [WindowsJob(self.pid).end]
        else:
            self._others = [partial(_end, f"{MARK}={token}".encode())]

    def end(self) -> None:
        """End all of it; does not wait for it. May be called twice."""
        processes.tree_end(self)
        while self._others:
            self._others.pop()()


if sys.platform == "win32":
    import ctypes

    class WindowsJob:
        """Holds a process, and all that it starts from now on."""

        def __init__(self, pid: int) -> None:
            self._kernel, rights = ctypes.WinDLL("kernel32"), 0x0100 | 0x0001  # PROCESS_SET_QUOTA, PROCESS_TERMINATE
            # A handle is as long as a pointer.
            self._kernel.CreateJobObjectW.restype = self._kernel.OpenProcess.restype = ctypes.c_void_p
            self._job = ctypes.c_void_p(self._kernel.CreateJobObjectW(None, None))
            process = ctypes.c_void_p(self._kernel.OpenProcess(rights, False, pid))
            self._kernel.AssignProcessToJobObject(self._job, process)
            self._kernel.CloseHandle(process)

        def end(self) -> None:
            self._kernel.TerminateJobObject(self._job, 1)
            self._kernel.CloseHandle(self._job)

else:

    def _end(mark: bytes) -> None:
        """End the processes whose environment has a mark, where there is `ps`."""
        words = ["ps", "-A", "e" if processes.LINUX else "-E", "-ww", "-o", "pid=,args="]
        with contextlib.suppress(FileNotFoundError):
            # They may go on starting others.
            for _ in range(50):
                listed = subprocess.run(words, capture_output=True, check=False).stdout
                if not (found := re.findall(rb"^ *([0-9]+) .*" + mark, listed, re.MULTILINE)):
                    return
                for pid in found:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
