"""Forks until it is refused, at most 200 children that end by themselves."""

from __future__ import annotations

import os

from tests.hostile import probe
from tests.hostile.probe import linger, until_refused


class Player(probe.Player):
    def attack(self) -> None:
        children: list[int] = []
        until_refused("fork", lambda _: children.append(linger(120)), 200)
        # Killed at once, or nothing could be forked to play on.
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)
