"""A player that plays at random, for tests that play matches in their own process."""

from __future__ import annotations

import random
from typing import Any


class Chance:
    """Plays a random valid action."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def start(self, state: Any, valid_actions: Any) -> int:
        return int(self._draw.choice(list(valid_actions)))

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        return self.start(state, valid_actions)

    def end(self, state: Any, prev_reward: float) -> None:
        """Learn nothing."""
