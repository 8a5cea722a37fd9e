"""Played twice: shares memory with all processes that are forked from the one that has loaded this module."""

from __future__ import annotations

import mmap

from tests.hostile import probe
from tests.hostile.probe import tried

SHARED = mmap.mmap(-1, mmap.PAGESIZE)


class Player(probe.Player):
    def attack(self) -> None:
        tried("earlier mapping", lambda: SHARED[0])
        SHARED[0] = 1
