"""The rules of Pong on a court of 1 x 1, with x from the left and y from the top.

Columns and paddles are whole numbers, so that nothing is rounded where a point is decided.
"""

from __future__ import annotations

from random import Random

COLUMNS = 50
"""The ball moves one column a step: x = column / COLUMNS, which is 0.02 a step."""
PADDLE_STEPS = 20
"""A paddle moves one of these a step: y = place / PADDLE_STEPS, which is 0.05 a step."""
PADDLE_REACH = 0.1
"""Half the length of a paddle. It stays within the court."""
HIGHEST, MIDDLE, LOWEST = 2, 10, 18
"""The places of a paddle's centre: at the top, in the middle and at the bottom."""
SERVE_SPEED = 0.02
"""A serve leaves the centre with at most this speed in y."""
STEEPER = 0.02
"""A hit at the very end of a paddle changes the ball's speed in y by this much, one in its middle by nothing."""
NOISE = 0.01
"""Chance changes the speed in y by at most this much at every hit."""
TOP_SPEED = 0.06
"""The largest speed in y."""
POINTS_TO_WIN = 11
MOST_STEPS = 1000


class Court:
    """The ball, the paddles and the points. Seat 0 is on the left. All chance comes from the seed."""

    __slots__ = ("ball", "column", "direction", "missed", "paddles", "points", "random", "scorer", "speed", "steps")

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random
        self.paddles = [MIDDLE, MIDDLE]
        self.points = [0, 0]
        self.steps = 0
        self.scorer: int | None = None
        """The seat that has just scored; None after a step without a point."""
        self.missed: float | None = None
        """The height at which the ball got past the paddle in the last step."""
        self.serve()

    def serve(self) -> None:
        """Put the ball into the centre, with a direction and a speed by chance."""
        self.column, self.ball = COLUMNS // 2, 0.5
        self.direction = 1 if self.random() < 0.5 else -1
        self.speed = (2 * self.random() - 1) * SERVE_SPEED

    @property
    def is_over(self) -> bool:
        return self.steps >= MOST_STEPS or POINTS_TO_WIN in self.points

    def step(self, first: int, second: int) -> int | None:
        """Move both paddles (0 up, 1 stay, 2 down) and then the ball; return the seat that scores, if any."""
        paddles = self.paddles
        paddles[0] = min(LOWEST, max(HIGHEST, paddles[0] + first - 1))
        paddles[1] = min(LOWEST, max(HIGHEST, paddles[1] + second - 1))
        self.steps += 1
        self.column += self.direction
        self.ball += self.speed
        if self.ball < 0:
            self.ball, self.speed = -self.ball, -self.speed
        elif self.ball > 1:
            self.ball, self.speed = 2 - self.ball, -self.speed
        self.scorer = self.missed = None
        if 0 < self.column < COLUMNS:
            return None
        seat = 0 if self.column == 0 else 1
        offset = self.ball - paddles[seat] / PADDLE_STEPS
        if -PADDLE_REACH <= offset <= PADDLE_REACH:
            self.direction = -self.direction
            speed = self.speed + offset / PADDLE_REACH * STEEPER + (2 * self.random() - 1) * NOISE
            self.speed = min(TOP_SPEED, max(-TOP_SPEED, speed))
            return None
        self.scorer, self.missed = 1 - seat, self.ball
        self.points[self.scorer] += 1
        self.serve()
        return self.scorer
