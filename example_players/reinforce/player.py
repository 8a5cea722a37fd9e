"""Plays CartPole-v1 with a small network that REINFORCE has trained.

`train.py` has the same network with its gradient, and writes `weights.npz`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

# Loaded once, for all `Player` objects. The comment shows in the traceback when the file is missing.
with numpy.load(Path(__file__).with_name("weights.npz")) as file:  # train.py writes it
    WEIGHTS = dict(file)


class Player:
    """Plays the most probable action; drawing actions by their probability is only useful for training."""

    def __init__(self, train_mode: bool = False) -> None:
        pass

    def start(self, state: Any, valid_actions: Any) -> int:
        """Return the first action of an episode."""
        return best_action(state)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        """Return every later action."""
        return best_action(state)

    def end(self, state: Any, prev_reward: float) -> None:
        """Called when the episode is over."""


def best_action(state: Any) -> int:
    """Return the action with the highest score, which is also the most probable one."""
    hidden = numpy.tanh(state @ WEIGHTS["hidden"] + WEIGHTS["hidden_bias"])
    return int((hidden @ WEIGHTS["output"] + WEIGHTS["output_bias"]).argmax())
