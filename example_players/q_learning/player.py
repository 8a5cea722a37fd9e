"""Plays FrozenLake-v1, Taxi or CliffWalking, whose states are numbers, by a table that Q-learning has learned.

`train.py` writes `q_table.npy`, an array of shape (states, actions), for one environment.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

# Loaded once, for all `Player` objects. The comment shows in the traceback when the file is missing.
VALUES = numpy.load(Path(__file__).with_name("q_table.npy"))  # train.py writes it
BEST_ACTIONS = VALUES.argmax(axis=1).tolist()


class Player:
    """Looks up the best action. state: array of shape (1,) with the number of the state."""

    def __init__(self, train_mode: bool = False) -> None:
        pass

    def start(self, state: Any, valid_actions: Any) -> int:
        """Return the first action of an episode."""
        return int(BEST_ACTIONS[int(state[0])])

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        """Return every later action."""
        return int(BEST_ACTIONS[int(state[0])])

    def end(self, state: Any, prev_reward: float) -> None:
        """Called when the episode is over."""
