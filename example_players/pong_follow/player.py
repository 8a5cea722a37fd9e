"""Follows the ball in Pong: moves the paddle towards the height at which the ball is now."""

from __future__ import annotations

from collections.abc import Sequence

UP, STAY, DOWN = 0, 1, 2
NEAR = 0.026
"""A paddle moves 0.05 a step, so it stays when it is about half of that away."""


class Player:
    """Looks at the ball and at its own paddle alone.

    state: ball x and y, ball speed x and y, own paddle y, other paddle y, own points, other points.
    """

    def __init__(self, train_mode: bool = False) -> None:
        pass

    def start(self, state: Sequence[float], valid_actions: Sequence[int]) -> int:
        """Return the first action of a match."""
        return follow(state)

    def step(self, state: Sequence[float], valid_actions: Sequence[int], prev_reward: float) -> int:
        """Return every later action."""
        return follow(state)

    def end(self, state: Sequence[float], prev_reward: float) -> None:
        """Called when the match is over."""


def follow(state: Sequence[float]) -> int:
    """Return the action that brings the paddle nearer to the height of the ball."""
    distance = float(state[1]) - float(state[4])
    if abs(distance) < NEAR:
        return STAY
    return UP if distance < 0 else DOWN
