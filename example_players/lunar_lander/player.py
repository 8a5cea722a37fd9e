"""Lands in LunarLander-v3 by hand-written rules that choose one of three engines, or none.

The idea and the constants come from Gymnasium's own demonstration (`heuristic` in
`gymnasium/envs/box2d/lunar_lander.py`, MIT licence); the code is new.
"""

from __future__ import annotations

from typing import Any

NOTHING, LEFT_ENGINE, MAIN_ENGINE, RIGHT_ENGINE = range(4)
LARGEST_TILT = 0.4
"""Largest tilt in radians; beyond it, the main engine cannot carry the lander."""
GLIDE = 0.55
"""Height to keep per unit of distance from the pad, so that the lander comes down along a cone."""
DEAD_BAND = 0.05
"""Smaller corrections are skipped, because they are not worth their fuel."""


class Player:
    """Tilts towards the pad, and burns when it falls faster or flies lower than it should."""

    def __init__(self, train_mode: bool = False) -> None:
        pass

    def start(self, state: Any, valid_actions: Any) -> int:
        """Return the first action of an episode."""
        return choose(*map(float, state))

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        """Return every later action."""
        return choose(*map(float, state))

    def end(self, state: Any, prev_reward: float) -> None:
        """Called when the episode is over."""


def choose(
    x: float, y: float, x_speed: float, y_speed: float, angle: float, turning: float, left_leg: float, right_leg: float
) -> int:
    """Return an action.

    x, y: position relative to the pad, in units of the view. angle: radians, positive to the left.
    """
    if left_leg or right_leg:
        # On the ground, it stops turning and only softens the last bounce.
        turn, lift = 0.0, -0.5 * y_speed
    else:
        # Far out or drifting away, it leans inwards, so that the main engine pushes it back to the middle.
        wanted_angle = max(-LARGEST_TILT, min(LARGEST_TILT, 0.5 * x + x_speed))
        turn = 0.5 * (wanted_angle - angle) - turning
        lift = 0.5 * (GLIDE * abs(x) - y) - 0.5 * y_speed
    if lift > max(abs(turn), DEAD_BAND):
        return MAIN_ENGINE
    if turn < -DEAD_BAND:
        return RIGHT_ENGINE
    if turn > DEAD_BAND:
        return LEFT_ENGINE
    return NOTHING
