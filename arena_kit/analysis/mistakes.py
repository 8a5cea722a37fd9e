"""The moves of a match that changed who could win."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from arena_kit.analysis.positions import Position
from arena_kit.environment.records import MatchRecord

WORST = 3
"""How many of a player's mistakes are its worst."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A move that gave something away. ply: the number of the move. seat: who played it.

    before, after: the values for that seat of the positions around it: 1 is a forced win, 0 a draw, -1 a forced loss.
    """

    ply: int
    seat: int
    before: int
    after: int

    @property
    def loss(self) -> int:
        """How much it gave away: 2 if a win became a loss, otherwise 1."""
        return self.before - self.after


def mistakes(record: MatchRecord, positions: Sequence[Position]) -> list[Mistake]:
    """Return the mistakes of both players, in order. The opening is not theirs."""
    found = []
    for before, after in pairwise(positions):
        seat = before.to_move
        if seat is None or before.ply < record.opening_count:
            continue
        was, became = before.value_for(seat), after.value_for(seat)
        if was is not None and became is not None and became < was:
            found.append(Mistake(after.ply, seat, was, became))
    return found


def worst(found: Sequence[Mistake], seat: int) -> list[Mistake]:
    """Return the worst mistakes of a seat, in order; of equally bad ones the later, which cost the result."""
    own = sorted((one for one in found if one.seat == seat), key=lambda one: (one.loss, one.ply), reverse=True)
    return sorted(own[:WORST], key=lambda one: one.ply)


def decided_by(found: Sequence[Mistake], positions: Sequence[Position]) -> Mistake | None:
    """Return the mistake after which the result was never in doubt again; None without one."""
    final = positions[-1].value
    for position, following in zip(reversed(positions[:-1]), reversed(positions), strict=False):
        if position.value != final:
            return next((one for one in found if one.ply == following.ply), None)
    return None
