"""Pong, with simultaneous moves.

Observation: ball x, y, speed in x and y, both paddles' y, both seats' points; for seat 1 as in a mirror, if `mirrored`.
Action: 0 up, 1 stay, 2 down.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from arena_kit.environment.protocol import Frame, IllegalAction, MatchOver, Observation
from arena_kit.environment.svg import result_text

from .rules import COLUMNS, PADDLE_STEPS, Court

SEATS = ("The first seat (left)", "The second seat (right)")
ACTIONS = (0, 1, 2)
BOTH, NEITHER = (0, 1), ()
REWARDS = {None: (0.0, 0.0), 0: (1.0, -1.0), 1: (-1.0, 1.0)}


class Pong:
    """Two seats that move at once; +1 for a point, -1 for one of the other seat.

    mirrored: whether each seat sees itself on the left. If not, both see the same.
    """

    def __init__(self, *, mirrored: bool = False) -> None:
        self._mirrored = mirrored

    def reset(self, seed: int) -> None:
        self._court = Court(seed)
        self._over = False

    @property
    def to_move(self) -> tuple[int, ...]:
        return NEITHER if self._over else BOTH

    @property
    def truncated(self) -> bool:
        return self._over and max(self._court.points) < 11

    def observe(self, seat: int) -> Observation:
        court = self._court
        column, direction, (own, other), (mine, theirs) = court.column, court.direction, court.paddles, court.points
        if seat == 1 and self._mirrored:
            column, direction, own, other, mine, theirs = COLUMNS - column, -direction, other, own, theirs, mine
        values = (
            column / COLUMNS,
            court.ball,
            direction / COLUMNS,
            court.speed,
            own / PADDLE_STEPS,
            other / PADDLE_STEPS,
            mine,
            theirs,
        )
        return Observation(array("f", values), () if self._over else ACTIONS)

    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        if self._over:
            raise MatchOver("The match is over.")
        first, second = actions.get(0, -1), actions.get(1, -1)
        if first not in ACTIONS or second not in ACTIONS:
            raise IllegalAction(f"The actions {first} and {second} are not both 0 (up), 1 (stay) or 2 (down).")
        scorer = self._court.step(first, second)
        self._over = self._court.is_over
        return REWARDS[scorer]

    def frame(self) -> Frame:
        court = self._court
        leader = None if court.points[0] == court.points[1] else int(court.points[1] > court.points[0])
        return {
            "ball": [court.column / COLUMNS, court.ball],
            "speed": [court.direction / COLUMNS, court.speed],
            "paddles": [place / PADDLE_STEPS for place in court.paddles],
            "points": court.points[:],
            "scorer": court.scorer,
            "missed": court.missed,
            "steps": court.steps,
            "to_move": list(self.to_move),
            "winner": leader if self._over else None,
            "over": self._over,
        }

    def text(self) -> str:
        """Return the points, where the ball and the paddles are, and how the match stands, as sentences."""
        court = self._court
        left, right = (place / PADDLE_STEPS for place in court.paddles)
        towards = "right" if court.direction > 0 else "left"
        steps = "step" if court.steps == 1 else "steps"
        lines = [
            f"Score: {court.points[0]} (left) to {court.points[1]} (right), after {court.steps} {steps}.",
            f"Ball: {court.column / COLUMNS:.2f} from the left, {court.ball:.2f} from the top, moving {towards}.",
            f"Paddles: left {left:.2f}, right {right:.2f} from the top.",
        ]
        if court.scorer is not None:
            lines.append(f"{SEATS[court.scorer]} has scored.")
        lines.append(result_text(self.frame(), SEATS) if self._over else "Both seats move at once.")
        return "\n".join(lines)
