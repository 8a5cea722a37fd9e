"""Plays what a small network that REINFORCE has trained finds most probable: CartPole-v1.

`weights.npz` is written by `train.py`, which holds the same network and its gradient.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

# Once for all episodes, not in every Player.
with numpy.load(Path(__file__).with_name("weights.npz")) as file:  # train.py writes it
    WEIGHTS = dict(file)


class Player:
    """Plays the action with the highest score; drawing by probability would only explore."""

    def __init__(self, train_mode: bool = False) -> None:
        pass

    def start(self, state: Any, valid_actions: Any) -> int:
        """The first move of an episode."""
        return best_action(state)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        """Every later move."""
        return best_action(state)

    def end(self, state: Any, prev_reward: float) -> None:
        """The episode is over."""


def best_action(state: Any) -> int:
    """The action with the highest score."""
    hidden = numpy.tanh(state @ WEIGHTS["hidden"] + WEIGHTS["hidden_bias"])
    return int((hidden @ WEIGHTS["output"] + WEIGHTS["output_bias"]).argmax())
