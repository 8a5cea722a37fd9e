"""Played twice: looks for what it left in its earlier duel, then leaves it for the next one."""

from __future__ import annotations

import builtins
import contextlib
import os
import socket
import sys
import tempfile
import time
from multiprocessing import shared_memory
from pathlib import Path

from tests.hostile import probe
from tests.hostile.probe import linger, tried

NAME = probe.PLANTED
LEFT: list[int] = []
LOADER = os.getpid()
PLACES = [tempfile.gettempdir(), os.environ.get("HOME", "/tmp")]
if __file__.startswith("/player/"):
    # In a container, where these are not the host's.
    PLACES += ["/dev/shm", "/dev/mqueue", "/var/tmp", "/player", "/channel", "/run"]


def files() -> list[str]:
    return sorted({place for place in PLACES if os.path.exists(os.path.join(place, NAME))})


def leave_files() -> int:
    left = 0
    for place in PLACES:
        with contextlib.suppress(OSError):
            left += (Path(place) / NAME).write_text("left") > 0
    return left


def processes() -> int:
    """How many processes but this one, its parents and the one that has loaded this module are there and stay."""
    deadline = time.monotonic() + 2
    while (count := strangers()) and time.monotonic() < deadline:
        # Between the loader and this process there was one that ends about now.
        time.sleep(0.05)
    return count


def strangers() -> int:
    family, pid = {os.getpid(), LOADER}, os.getpid()
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        family.add(pid)
    return len({int(entry.name) for entry in Path("/proc").glob("[0-9]*")} - family)


def listening() -> None:
    with socket.socket(socket.AF_UNIX) as knocker:
        knocker.connect("\0" + NAME)


def shared() -> None:
    shared_memory.SharedMemory(NAME).close()


class Player(probe.Player):
    def attack(self) -> None:
        tried("earlier files", files)
        tried("earlier processes", processes)
        tried("earlier socket", listening)
        tried("earlier shared memory", shared)
        tried("earlier globals", lambda: [len(LEFT), hasattr(builtins, NAME), NAME in sys.modules])
        tried("earlier environment", lambda: os.environ.get(NAME))
        tried("earlier folder", lambda: os.path.basename(os.getcwd()) == NAME)
        self.leave()

    @staticmethod
    def leave() -> None:
        tried("leaving files", leave_files)
        LEFT.append(1)
        setattr(builtins, NAME, True)
        sys.modules[NAME] = sys
        os.environ[NAME] = "left"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind("\0" + NAME)
        listener.listen(1)
        linger(120)
        listener.detach()
