"""The smallest possible player, which always plays the first valid action."""

from collections.abc import Sequence


class Player:
    """Plays every environment whose actions are numbers, badly."""

    def __init__(self, train_mode: bool = False) -> None:
        pass

    def start(self, state: Sequence[int], valid_actions: Sequence[int]) -> int:
        """Return the first action of a match."""
        return valid_actions[0]

    def step(self, state: Sequence[int], valid_actions: Sequence[int], prev_reward: float) -> int:
        """Return every later action; prev_reward is the sum of rewards since the last one."""
        return valid_actions[0]

    def end(self, state: Sequence[int], prev_reward: float) -> None:
        """Called when the match is over."""
