"""Limits of this process, the start and the end of others, and the cores that they run on."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import resource

WINDOWS, LINUX = sys.platform == "win32", sys.platform == "linux"
NO_WINDOW: dict[str, Any] = {"creationflags": getattr(subprocess, "CREATE_NO_WINDOW", 0)}
"""Without these options of Popen, each process of a notebook, which has no console on Windows, opens a window."""
ALARM_STATUS = -int(getattr(signal, "SIGALRM", 14))
_WINDOWS_VARIABLES = (
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "PATH", "TEMP", "TMP", "USERPROFILE", "USERNAME",
    "APPDATA", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
)  # fmt: skip
"""Without some of these, sockets, temporary files or the libraries of a conda Python fail to load."""
_NO_NEW_PRIVILEGES = 38
_NEW_NAMESPACES = 0x10000000 | 0x40000000 | 0x08000000  # of users, networks and IPC


def limit(name: str, most: int, *, for_good: bool = True) -> None:
    """Limit this process, as far as the machine does. Raises OSError and ValueError on Linux alone.

    name: of a limit of getrlimit(2), such as "CPU". for_good: whether this process itself cannot raise it again.
    Windows has no limits, and macOS answers usual limits on memory (AS, DATA) with EINVAL.
    """
    if sys.platform != "win32":
        try:
            kind = getattr(resource, f"RLIMIT_{name}")
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most if for_good else hard))
        except (OSError, ValueError, AttributeError):
            # A site must not read what people send it without a limit that its kernel has.
            if LINUX:
                raise


def unshare() -> bool:
    """Give this process no new privileges, but users, a network and IPC of its own; return whether it has these.

    Only Linux has them, and not every kernel allows them.
    """
    if sys.platform == "linux":
        # Late: loading it takes time, and only processes that hold foreign code need it.
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return bool(library.unshare(_NEW_NAMESPACES) == 0)
    else:
        return False


def alarm(seconds: float, call: Callable[[], None] | None = None) -> None:
    """Call a function in the main thread after this time, 0 for never; on Windows, which has no alarm, do nothing.

    Without a function the process ends with ALARM_STATUS, even while it hangs in C.
    """
    if sys.platform != "win32":
        signal.signal(signal.SIGALRM, signal.SIG_DFL if call is None else lambda *_: call())
        signal.setitimer(signal.ITIMER_REAL, seconds)


def ending_signals() -> tuple[signal.Signals, ...]:
    """Return the signals by which people and machines end a command, besides Ctrl-C."""
    if sys.platform == "win32":
        return (signal.SIGTERM, signal.SIGBREAK)
    else:
        return (signal.SIGTERM, signal.SIGHUP)


def apart() -> dict[str, Any]:
    """Return the options of Popen for a process that `tree_end` can end with all that it starts."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    else:
        return {"start_new_session": True}


def tree_end(process: subprocess.Popen[Any]) -> None:
    """End a process that was started `apart`, with what it has started; does not wait for it.

    On Windows, what a process left behind that has ended by itself is not found.
    """
    with contextlib.suppress(OSError):
        if sys.platform != "win32":
            os.killpg(process.pid, signal.SIGKILL)
        elif process.poll() is None:
            words = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
            subprocess.run(words, capture_output=True, check=False, **NO_WINDOW)
    with contextlib.suppress(OSError):
        process.kill()


def tree_end_from_within(leader: int) -> None:
    """End the process `leader`, which was started `apart` and is this one or has forked it, with all of its group."""
    if sys.platform != "win32":
        os.killpg(leader, signal.SIGKILL)
    os._exit(1)


def has_ended(process: subprocess.Popen[Any]) -> bool:
    """Return whether a process has ended, if possible without taking its status, so that its number stays its own."""
    if sys.platform == "linux" and process.returncode is None:
        try:
            return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True
    return process.poll() is not None


if sys.platform != "win32":

    def run_copy(
        program: Callable[[], int], arguments: list[str], seconds: float
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program in a copy of this process, which has one thread, and return its output. Raises TimeoutExpired.

        It begins at once, with all modules loaded, and under the limits of this process.
        """
        reader, writer = os.pipe()
        if (copy := os.fork()) == 0:
            status = 1
            try:
                os.dup2(writer, 1)
                sys.argv = ["", *arguments]
                with os.fdopen(1, "w", closefd=False) as sys.stdout:
                    status = program()
                    sys.stdout.flush()
            finally:
                os._exit(status)
        os.close(writer)
        output, deadline = b"", time.monotonic() + seconds
        with os.fdopen(reader, "rb", buffering=0) as pipe:
            while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
                part = pipe.read(1 << 16)
                if not part:
                    return subprocess.CompletedProcess(
                        arguments, os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), output
                    )
                output += part
        os.kill(copy, signal.SIGKILL)
        os.waitpid(copy, 0)
        raise subprocess.TimeoutExpired(arguments, seconds, output)

else:

    def run_copy(
        program: Callable[[], int], arguments: list[str], seconds: float
    ) -> subprocess.CompletedProcess[bytes]:
        """Windows copies no process."""
        raise NotImplementedError


def step_back(process: subprocess.Popen[Any], niceness: int) -> None:
    """Lower the priority of a process that was started `apart`, and of what it has started."""
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PGRP, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + niceness)


def child_variables(own: Mapping[str, str], *, home: Path | None = None) -> dict[str, str]:
    """Return a clean environment in which a program starts on this machine, and Python reads and writes UTF-8.

    own: variables that are added to it. home: its home and its place for temporary files.
    """
    if sys.platform == "win32":
        kept = {name: os.environ[name] for name in _WINDOWS_VARIABLES if name in os.environ}
        usual = {**kept, "PYTHONUTF8": "1"}
    else:
        usual = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    places = {} if home is None else {"HOME": str(home), "USERPROFILE": str(home), **temporary_folder(home)}
    return {**usual, **places, **own}


def quoted(word: str) -> str:
    """Return a word as the shells of this machine take it in a command: cmd and PowerShell know double quotes."""
    return subprocess.list2cmdline([word]) if sys.platform == "win32" else shlex.quote(word)


def temporary_folder(folder: Path) -> dict[str, str]:
    """Return the variables by which a program finds its place for temporary files, on any machine."""
    return dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))


def allowed_cores() -> frozenset[int]:
    """Return the cores that this thread may run on; empty where the machine does not let it choose."""
    if sys.platform == "linux":
        return frozenset(os.sched_getaffinity(0))
    else:
        return frozenset()


def run_on(cores: Iterable[int]) -> None:
    """Let this thread run on these cores only, where the machine lets it choose."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, cores)


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(allowed_cores()) or os.cpu_count() or 1
