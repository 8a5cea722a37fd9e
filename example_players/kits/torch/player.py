"""Plays by a policy network that `train.py` has trained, computed with NumPy; at random without weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

WEIGHTS = Path(__file__).with_name("weights.npz")
# Loaded once, for all `Player` objects: weights and biases of the layers, in order.
LAYERS = list(numpy.load(WEIGHTS).values()) if WEIGHTS.exists() else []


def policy(state: Any) -> Any:
    """Return the preference for every action: the network of `train.py`."""
    (first, first_bias, second, second_bias, last, last_bias) = LAYERS
    hidden = numpy.tanh(numpy.asarray(state, numpy.float32).ravel() @ first.T + first_bias)
    hidden = numpy.tanh(hidden @ second.T + second_bias)
    return hidden @ last.T + last_bias


class Player:
    """seed: makes the moves repeatable; the arena does not set it."""

    def __init__(self, train_mode: bool = False, seed: int | None = None) -> None:
        self._random = numpy.random.default_rng(seed)

    def start(self, state: Any, valid_actions: Any) -> int:
        """Return the first action of a match."""
        return self._choose(state, valid_actions)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        """Return every later action."""
        return self._choose(state, valid_actions)

    def end(self, state: Any, prev_reward: float) -> None:
        """Called when the match is over."""

    def _choose(self, state: Any, valid_actions: Any) -> int:
        valid = numpy.asarray(valid_actions)
        if not LAYERS:
            return int(self._random.choice(valid))
        return int(valid[policy(state)[valid].argmax()])
