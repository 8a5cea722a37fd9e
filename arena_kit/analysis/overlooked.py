"""The move that let the other side win at once, in a match of which a solver sees only what came after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.analysis.positions import Position
from arena_kit.environment.openings import begin
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.spec import EnvironmentSpec

MOST_ACTIONS = 12
"""With more actions to choose from, trying all of them and all answers takes too long for a page."""


@dataclass(frozen=True, slots=True)
class Overlooked:
    """A threat that was not parried. ply: the number of the move. seat: who played it. better: what parries it."""

    ply: int
    seat: int
    better: tuple[int, ...]


def overlooked(spec: EnvironmentSpec, record: MatchRecord, positions: Sequence[Position]) -> Overlooked | None:
    """Return the threat that was overlooked just before the first solved position; None where none could be parried."""
    place = next((place for place, one in enumerate(positions) if one.value is not None), 0)
    if place == 0:
        return None
    before, after = positions[place - 1], positions[place]
    seat, actions = before.to_move, record.actions[: before.ply]
    if seat is None or before.ply < record.opening_count or after.plies != 1 or after.value_for(seat) != -1:
        return None
    environment = spec.make()
    begin(environment, record.seed, actions)
    valid = [int(action) for action in environment.observe(seat).valid_actions]
    if len(valid) > MOST_ACTIONS:
        return None
    better = tuple(one for one in valid if not _loses_at_once(spec, record.seed, (*actions, one), seat))
    return Overlooked(after.ply, seat, better) if better else None


def _loses_at_once(spec: EnvironmentSpec, seed: int, actions: tuple[int, ...], seat: int) -> bool:
    """Return whether a seat has lost after these actions, or loses by one answer."""
    environment = spec.make()
    scores = begin(environment, seed, actions)
    if not environment.to_move:
        return scores[seat] < scores[1 - seat]
    if environment.to_move[0] == seat:
        return False
    for answer in environment.observe(1 - seat).valid_actions:
        ended = spec.make()
        scores = begin(ended, seed, (*actions, int(answer)))
        if not ended.to_move and scores[seat] < scores[1 - seat]:
            return True
    return False
