"""Fills memory, at most 1.5 GB."""

from __future__ import annotations

from tests.hostile import probe
from tests.hostile.probe import say


class Player(probe.Player):
    def attack(self) -> None:
        say("filling")
        blocks = [b"x" * (8 << 20) for _ in range(192)]
        say(f"filled with {len(blocks)} blocks")
