"""Signals, stops, reads and writes the processes above it: its supervisor, and the one that loads it for every duel."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.hostile import probe
from tests.hostile.probe import syscall, tried

SIGNALS = (signal.SIGSTOP, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGSEGV, signal.SIGKILL)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def loader() -> int:
    """The process that this one was forked from, which belongs to the supervisor, too; else the parent."""
    family = (1, os.getpid(), os.getppid())
    others = (int(entry.name) for entry in Path("/proc").glob("[0-9]*"))
    return next((pid for pid in others if pid not in family and os.getppid() == 1), os.getppid())


class Player(probe.Player):
    def attack(self) -> None:
        parent = loader()
        for name, pid in (("parent", parent), ("first process", 1)):
            for file in ("mem", "environ", "maps", "auxv", "syscall"):
                tried(f"{file} of {name}", Path(f"/proc/{pid}/{file}").read_bytes)
            tried(f"writing to {name}", Path(f"/proc/{pid}/mem").open, "r+b")
            tried(f"descriptors of {name}", os.listdir, f"/proc/{pid}/fd")
            syscall(f"tracing {name}", 101, 117, 16, pid, 0, 0)
        for number in SIGNALS:
            for pid in {parent, 1}:
                try:
                    os.kill(pid, number)
                except OSError:
                    continue
        tried("killing the first process", state, 1)
