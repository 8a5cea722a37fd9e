"""The smallest player there is: it always plays the first valid action."""

from collections.abc import Sequence


class Player:
    """Plays every environment whose actions are numbers, and none of them well."""

    def __init__(self, train_mode: bool = False) -> None:
        pass

    def start(self, state: Sequence[int], valid_actions: Sequence[int]) -> int:
        """The first move of a match."""
        return valid_actions[0]

    def step(self, state: Sequence[int], valid_actions: Sequence[int], prev_reward: float) -> int:
        """Every later move; prev_reward is what happened since our last one."""
        return valid_actions[0]

    def end(self, state: Sequence[int], prev_reward: float) -> None:
        """The match is over."""
