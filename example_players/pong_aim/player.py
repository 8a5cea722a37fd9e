"""Plays Pong ahead of the ball: works out where it will arrive, and returns it as steeply as it can."""

from __future__ import annotations

from collections.abc import Sequence

UP, STAY, DOWN = 0, 1, 2
STEP = 0.05
"""How far a paddle moves in a step."""
HIGHEST, LOWEST = 0.1, 0.9
"""A paddle's centre stays between these heights."""
END_OF_PADDLE = 0.07
"""How far from the paddle's middle the ball is to be hit; the paddle reaches 0.1 to each side."""


class Player:
    """Waits in the middle while the ball flies away, and meets it with an end of the paddle when it comes.

    state: ball x and y, ball speed x and y, own paddle y, other paddle y, own points, other points.
    """

    def __init__(self, train_mode: bool = False) -> None:
        pass

    def start(self, state: Sequence[float], valid_actions: Sequence[int]) -> int:
        """Return the first action of a match."""
        return towards(target(state), float(state[4]))

    def step(self, state: Sequence[float], valid_actions: Sequence[int], prev_reward: float) -> int:
        """Return every later action."""
        return towards(target(state), float(state[4]))

    def end(self, state: Sequence[float], prev_reward: float) -> None:
        """Called when the match is over."""


def target(state: Sequence[float]) -> float:
    """Return the height that the paddle should have when the ball arrives."""
    x, y, speed_x, speed_y = (float(value) for value in state[:4])
    if speed_x > 0:
        return 0.5
    height, speed = arrival(y, speed_y, round(x / -speed_x))
    # The end of the paddle towards which the ball flies makes it steeper still.
    aimed = height - END_OF_PADDLE if speed > 0 else height + END_OF_PADDLE
    return min(LOWEST, max(HIGHEST, aimed))


def arrival(y: float, speed: float, steps: int) -> tuple[float, float]:
    """Return the ball's height and its speed in y after some steps, with the walls at 0 and 1."""
    # Behind the walls the court goes on as in mirrors, so the way there is straight.
    far = y + speed * steps
    folded = far % 2
    is_mirrored = folded > 1
    return (2 - folded if is_mirrored else folded), (-speed if is_mirrored else speed)


def towards(height: float, paddle: float) -> int:
    """Return the action that brings the paddle nearer to a height."""
    if abs(height - paddle) < STEP / 2 + 0.001:
        return STAY
    return UP if height < paddle else DOWN
