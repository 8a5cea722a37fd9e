"""The opponent: plays the first valid action, and says only that a match is over."""

from __future__ import annotations

from pathlib import Path

from tests.hostile import probe
from tests.hostile.probe import State, say


class Player(probe.Player):
    def __init__(self, train_mode: bool) -> None:
        # No player may find this: neither in the folder nor in the memory of this process.
        self.secret = (Path(__file__).parent / "secret.txt").read_text()

    def end(self, state: State, prev_reward: float) -> None:
        say("over")
