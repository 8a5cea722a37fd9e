"""Plays what SARSA has found best: CliffWalking, FrozenLake-v1 and Taxi, whose states are numbers.

`q_table.npy` (state, action) is written by `train.py`, for one environment.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

# Once for all episodes, not in every Player.
VALUES = numpy.load(Path(__file__).with_name("q_table.npy"))  # train.py writes it
BEST_ACTIONS = VALUES.argmax(axis=1).tolist()


class Player:
    """Looks the best action up. state: array of shape (1,) with the number of the state."""

    def __init__(self, train_mode: bool = False) -> None:
        pass

    def start(self, state: Any, valid_actions: Any) -> int:
        """The first move of an episode."""
        return int(BEST_ACTIONS[int(state[0])])

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        """Every later move."""
        return int(BEST_ACTIONS[int(state[0])])

    def end(self, state: Any, prev_reward: float) -> None:
        """The episode is over."""
