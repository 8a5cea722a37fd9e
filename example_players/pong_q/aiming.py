"""Geometry for `player.py` and `train.py`: where the ball will arrive, and where the paddle meets it.

Heights and speeds are those of the environment: the court is 1 high, and heights count from the top.
"""

from __future__ import annotations

UP, STAY, DOWN = 0, 1, 2
STEP = 0.05
"""A paddle moves by this much in a step, and its centre is always at a multiple of it."""
HIGHEST, MIDDLE, LOWEST = 2, 10, 18
"""The places of a paddle's centre at the top, in the middle and at the bottom, as multiples of STEP."""
REACH = 0.096
"""A hit as far from the paddle's centre as this is safe. The paddle reaches 0.1 to each side."""
TOP_SPEED = 0.06
HEIGHTS, SPEEDS = 10, 6
OFFSETS = (-0.08, -0.04, 0.0, 0.04, 0.08)
"""Where the ball may hit the paddle, from its centre. These are the actions that are learned."""
SHAPE = (HEIGHTS * SPEEDS, len(OFFSETS))


def arrival(y: float, speed: float, steps: int) -> tuple[float, float]:
    """Return the ball's height and its speed in y after some steps, with the walls at 0 and 1."""
    # Behind the walls the court goes on as in mirrors, so the way there is straight.
    folded = (y + speed * steps) % 2
    is_mirrored = folded > 1
    return (2 - folded if is_mirrored else folded), (-speed if is_mirrored else speed)


def situation(height: float, speed: float) -> tuple[int, int]:
    """Return the row of the table for a ball that arrives, and the sign of its offsets.

    A ball that flies up is one that flies down in a mirror, so both share a row and differ in the sign.
    """
    sign = -1 if speed < 0 else 1
    seen = 1 - height if speed < 0 else height
    row = min(HEIGHTS - 1, int(seen * HEIGHTS)) * SPEEDS + min(SPEEDS - 1, int(abs(speed) / TOP_SPEED * SPEEDS))
    return row, sign


def place_for(height: float, offset: float) -> int:
    """Return the paddle's place, as a multiple of STEP, at which a ball hits it with about this offset, and safely."""
    reachable = [place for place in range(HIGHEST, LOWEST + 1) if abs(height - place * STEP) <= REACH]
    # At the walls, a ball can be just out of safe reach for every place.
    places = reachable or [HIGHEST if height < 0.5 else LOWEST]
    return min(places, key=lambda place: abs(height - place * STEP - offset))


def towards(place: int, paddle: float) -> int:
    """Return the action that brings the paddle, at a height, nearer to a place."""
    now = round(paddle / STEP)
    return STAY if now == place else UP if place < now else DOWN
