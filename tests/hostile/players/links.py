"""Follows the links under `/proc` that lead out of where they stand."""

from __future__ import annotations

import os
from pathlib import Path

from tests.hostile import probe
from tests.hostile.probe import tried

TARGETS = ("/proc/1/root", "/proc/1/cwd", "/proc/self/root/../../..", "/proc/1/fd/0")


class Player(probe.Player):
    def attack(self) -> None:
        for target in TARGETS:
            tried(f"through {target}", self.secrets, Path(target))

    @staticmethod
    def secrets(folder: Path) -> int:
        return sum(name.startswith("arena-") for name in os.listdir(folder / "tmp"))
