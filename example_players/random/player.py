"""Plays any valid action, all equally likely."""

from collections.abc import Sequence
from random import Random


class Player:
    """Plays every environment whose actions are numbers.

    seed: makes the moves repeatable; the arena gives none.
    """

    def __init__(self, train_mode: bool = False, seed: int | None = None) -> None:
        # A generator of its own: one object plays per running match, and none must disturb the others' moves.
        self._random = Random(seed)

    def start(self, state: Sequence[int], valid_actions: Sequence[int]) -> int:
        """The first move of a match."""
        return self._choose(valid_actions)

    def step(self, state: Sequence[int], valid_actions: Sequence[int], prev_reward: float) -> int:
        """Every later move."""
        return self._choose(valid_actions)

    def end(self, state: Sequence[int], prev_reward: float) -> None:
        """The match is over."""

    def _choose(self, valid_actions: Sequence[int]) -> int:
        return valid_actions[self._random.randrange(len(valid_actions))]
