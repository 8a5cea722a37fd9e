"""The move that let the other side win within a few steps, in a match whose earlier positions no solver has solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.analysis.positions import Position
from arena_kit.environment.openings import begin
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.spec import EnvironmentSpec

MOST_TRIED = 2_500
"""The most continuations that are tried for a page; each is played from the beginning of the match."""


@dataclass(frozen=True, slots=True)
class Overlooked:
    """A threat that was not parried. ply: the number of the move. seat: who played it. better: what parries it.

    steps: after which the other side wins at the latest, and after `better` not yet.
    """

    ply: int
    seat: int
    steps: int
    better: tuple[int, ...]


def wins_within(steps: int) -> str:
    """Return what the other side can do, as words: `win at once`, `force a win in 2 moves`."""
    return "win at once" if steps == 1 else f"force a win in {(steps + 1) // 2} moves"


def overlooked(spec: EnvironmentSpec, record: MatchRecord, positions: Sequence[Position]) -> Overlooked | None:
    """Return the threat that was overlooked just before the first solved position; None where none could be parried."""
    place = next((place for place, one in enumerate(positions) if one.value is not None), 0)
    if place == 0:
        return None
    before, after = positions[place - 1], positions[place]
    seat, actions = before.to_move, record.actions[: before.ply]
    if seat is None or before.ply < record.opening_count or not after.plies or after.value_for(seat) != -1:
        return None
    environment = spec.make()
    begin(environment, record.seed, actions)
    valid = [int(action) for action in environment.observe(seat).valid_actions]
    if len(valid) ** (after.plies + 1) > MOST_TRIED:
        return None
    better = tuple(one for one in valid if not _is_lost(spec, record.seed, (*actions, one), seat, after.plies))
    return Overlooked(after.ply, seat, after.plies, better) if better else None


def _is_lost(spec: EnvironmentSpec, seed: int, actions: tuple[int, ...], seat: int, steps: int) -> bool:
    """Return whether a seat has lost after these actions, or the other one can force that within so many steps."""
    environment = spec.make()
    scores = begin(environment, seed, actions)
    if not environment.to_move:
        return scores[seat] < scores[1 - seat]
    if not steps:
        return False
    mover = environment.to_move[0]
    tried = (
        _is_lost(spec, seed, (*actions, int(one)), seat, steps - 1) for one in environment.observe(mover).valid_actions
    )
    return all(tried) if mover == seat else any(tried)
