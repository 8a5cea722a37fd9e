"""Limits, slows and moves the processes above it; a limit of processor time would end the first one."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from pathlib import Path

from tests.hostile import probe
from tests.hostile.probe import IS_ARM, LIBC, syscall, tried

IOPRIO_IDLE = 3 << 13
SPAM_SECONDS = 8.0


def loader() -> int:
    """The process that this one was forked from, which belongs to the supervisor, too; else the parent."""
    family = (1, os.getpid(), os.getppid())
    others = (int(entry.name) for entry in Path("/proc").glob("[0-9]*"))
    return next((pid for pid in others if pid not in family and os.getppid() == 1), os.getppid())


def limit_processor_time(pid: int) -> int:
    """Let a process have a second of processor time from its start on, the least that the kernel takes."""
    limit = (ctypes.c_ulong * 2)(0, 0)
    ctypes.set_errno(0)
    answer: int = LIBC.syscall(261 if IS_ARM else 302, pid, resource.RLIMIT_CPU, limit, None)
    if answer:
        raise OSError(ctypes.get_errno(), "prlimit64")
    # News of ended children, which it handles, make it use its second.
    deadline = time.monotonic() + SPAM_SECONDS
    while time.monotonic() < deadline:
        os.kill(pid, signal.SIGCHLD)
    return answer


class Player(probe.Player):
    def attack(self) -> None:
        mask = ctypes.c_ulong(1)
        tried("own limits", resource.setrlimit, resource.RLIMIT_CORE, (0, 0))
        tried("own cores", os.sched_setaffinity, 0, os.sched_getaffinity(0))
        tried("own priority", os.nice, 1)
        for name, pid in (("loader", loader()), ("first process", 1)):
            syscall(f"cores of {name}", 203, 122, pid, ctypes.sizeof(mask), ctypes.byref(mask))
            syscall(f"priority of {name}", 141, 140, os.PRIO_PROCESS, pid, 19)
            syscall(f"disk priority of {name}", 251, 30, 1, pid, IOPRIO_IDLE)
            syscall(f"reading limits of {name}", 302, 261, pid, resource.RLIMIT_CPU, None, None)
        syscall("priority of its group", 141, 140, os.PRIO_PGRP, 0, 19)
        syscall("priority of its user", 141, 140, os.PRIO_USER, 0, 19)
        syscall("disk priority of its user", 251, 30, 3, os.getuid(), IOPRIO_IDLE)
        tried("processor time of first process", limit_processor_time, 1)
