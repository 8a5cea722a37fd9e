"""Plays by a table of values that `train.py` has learned; at random where the table has nothing."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

TABLE = Path(__file__).with_name("table.json")
# Loaded once, for all `Player` objects: the best action of every state that was seen.
BEST: dict[str, int] = json.loads(TABLE.read_text()) if TABLE.exists() else {}


def key_of(state: Any) -> str:
    """Return a state, an array of whole numbers, as a key of the table."""
    return ",".join(str(int(number)) for number in state)


class Player:
    """seed: makes the moves that are left to chance repeatable; the arena does not set it."""

    def __init__(self, train_mode: bool = False, seed: int | None = None) -> None:
        self._random = Random(seed)

    def start(self, state: Any, valid_actions: Any) -> int:
        """Return the first action of a match."""
        return self._choose(state, valid_actions)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        """Return every later action."""
        return self._choose(state, valid_actions)

    def end(self, state: Any, prev_reward: float) -> None:
        """Called when the match is over."""

    def _choose(self, state: Any, valid_actions: Any) -> int:
        best = BEST.get(key_of(state))
        valid = [int(action) for action in valid_actions]
        return best if best in valid else self._random.choice(valid)
