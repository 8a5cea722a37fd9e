"""Fills the temporary folder with large files, at most 200 MB, and tries other places."""

from __future__ import annotations

import contextlib
import signal
import tempfile
from pathlib import Path

from tests.hostile import probe
from tests.hostile.probe import tried, until_refused

BLOCK = bytes(1 << 20)


def grow(path: Path, blocks: int) -> None:
    with path.open("ab", buffering=0) as file:
        for _ in range(blocks):
            file.write(BLOCK)


class Player(probe.Player):
    def attack(self) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            until_refused("one large file", lambda _: grow(folder / "large", 1), 100)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            until_refused("large files", lambda number: grow(folder / str(number), 20), 10)
        for place in ("/dev/shm", "/dev/mqueue", "/var/tmp", "/run", "/"):
            tried(f"file in {place}", self.leave, Path(place) / probe.PLANTED)

    @staticmethod
    def leave(path: Path) -> str:
        path.write_bytes(BLOCK)
        with contextlib.suppress(OSError):
            path.unlink()
        return "written"
