"""Plays a random valid action in every environment of the arena."""

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
"""The length and the bound of an action that is an array, by the length of the observation, which is all that a player
sees."""


class Player:
    """Draws an action, each with the same probability.

    seed: makes the moves repeatable; the arena does not set it.
    """

    def __init__(self, train_mode: bool = False, seed: int | None = None) -> None:
        # Each running match has its own object and generator, so that matches do not influence each other's moves.
        self._random = Random(seed)

    def start(self, state: Sequence[float], valid_actions: Sequence[int]) -> Any:
        """Return the first action of a match."""
        return self._choose(state, valid_actions)

    def step(self, state: Sequence[float], valid_actions: Sequence[int], prev_reward: float) -> Any:
        """Return every later action."""
        return self._choose(state, valid_actions)

    def end(self, state: Sequence[float], prev_reward: float) -> None:
        """Called when the match is over."""

    def _choose(self, state: Sequence[float], valid_actions: Sequence[int]) -> Any:
        if len(valid_actions):
            return valid_actions[self._random.randrange(len(valid_actions))]
        return self._array(len(state))

    def _array(self, observation_length: int) -> Any:
        import numpy  # only here, because environments with numbered actions need no package

        if observation_length not in ARRAYS:
            raise ValueError(
                f"There is no entry for observations of length {observation_length}. Add one to ARRAYS in player.py."
            )
        count, bound = ARRAYS[observation_length]
        return numpy.array([self._random.uniform(-bound, bound) for _ in range(count)], dtype=numpy.float32)
