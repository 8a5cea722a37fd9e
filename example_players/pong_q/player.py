"""Plays Pong with a table of values that says with which part of the paddle to return a ball.

`train.py` learns the table and writes `q_table.npy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy
from aiming import (  # type: ignore[import-not-found]  # the folder of a player is on its path
    MIDDLE,
    OFFSETS,
    arrival,
    place_for,
    situation,
    towards,
)

# Loaded once, for all `Player` objects. The comment shows in the traceback when the file is missing.
BEST = numpy.load(Path(__file__).with_name("q_table.npy")).argmax(axis=1).tolist()  # train.py writes it


class Player:
    """Waits in the middle while the ball flies away, and returns it with the offset that has the highest value.

    state: ball x and y, ball speed x and y, own paddle y, other paddle y, own points, other points.
    """

    def __init__(self, train_mode: bool = False) -> None:
        pass

    def start(self, state: Sequence[float], valid_actions: Sequence[int]) -> int:
        """Return the first action of a match."""
        return action(state)

    def step(self, state: Sequence[float], valid_actions: Sequence[int], prev_reward: float) -> int:
        """Return every later action."""
        return action(state)

    def end(self, state: Sequence[float], prev_reward: float) -> None:
        """Called when the match is over."""


def action(state: Sequence[float]) -> int:
    """Return the action for a state."""
    x, y, speed_x, speed_y, paddle = (float(value) for value in state[:5])
    if speed_x > 0:
        return int(towards(MIDDLE, paddle))
    height, speed = arrival(y, speed_y, round(x / -speed_x))
    row, sign = situation(height, speed)
    return int(towards(place_for(height, sign * OFFSETS[BEST[row]]), paddle))
