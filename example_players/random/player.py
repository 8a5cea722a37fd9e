"""Plays any valid action, all equally likely, in every environment of the arena."""

from collections.abc import Sequence
from random import Random
from typing import Any

ARRAYS = {
    3: (1, 2.0),  # Pendulum
    11: (3, 1.0),  # Hopper
    17: (6, 1.0),  # HalfCheetah, Walker2d
    24: (4, 1.0),  # BipedalWalker
    105: (8, 1.0),  # Ant
    348: (17, 0.4),  # Humanoid
}
"""Where actions are arrays: how many numbers and their bound, by the length of the observation, which is all we see."""


class Player:
    """Draws an action.

    seed: makes the moves repeatable; the arena gives none.
    """

    def __init__(self, train_mode: bool = False, seed: int | None = None) -> None:
        # A generator of its own: one object plays per running match, and none must disturb the others' moves.
        self._random = Random(seed)

    def start(self, state: Sequence[float], valid_actions: Sequence[int]) -> Any:
        """The first move of a match."""
        return self._choose(state, valid_actions)

    def step(self, state: Sequence[float], valid_actions: Sequence[int], prev_reward: float) -> Any:
        """Every later move."""
        return self._choose(state, valid_actions)

    def end(self, state: Sequence[float], prev_reward: float) -> None:
        """The match is over."""

    def _choose(self, state: Sequence[float], valid_actions: Sequence[int]) -> Any:
        if len(valid_actions):
            return valid_actions[self._random.randrange(len(valid_actions))]
        return self._array(len(state))

    def _array(self, observation_length: int) -> Any:
        import numpy  # only here: games of numbered actions need no package

        if observation_length not in ARRAYS:
            raise ValueError(
                f"Which actions go with an observation of length {observation_length}? Add them to ARRAYS in player.py."
            )
        count, bound = ARRAYS[observation_length]
        return numpy.array([self._random.uniform(-bound, bound) for _ in range(count)], dtype=numpy.float32)
