"""The positions before the worst mistakes of a match, and all moves there that would have kept the value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from arena_kit.analysis.mistakes import Mistake, mistakes, worst
from arena_kit.analysis.overlooked import Overlooked, overlooked
from arena_kit.analysis.positions import Position
from arena_kit.environment.openings import begin
from arena_kit.environment.protocol import Frame
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.solver import NotSolved
from arena_kit.environment.solving import match_solver
from arena_kit.environment.spec import EnvironmentSpec

NODES = 50_000
"""Positions that a solver may look at for one other move: at most half a second of one core."""
UNSOLVED = 4
"""After this many moves that are not solved, the others of a position are not looked at."""


@dataclass(frozen=True, slots=True)
class Blunder:
    """A position in which a seat gave something away. seed, actions: the match up to there. played: the move.

    ply: the number of steps before it. holding: the moves that keep the value; empty where no solver has found any.
    losing: those that give something away; what is in neither list is not solved. before, after: the share of the seat
    before the move and after it, 1 for a win, 0.5 for a draw.

    steps: of a threat that was overlooked, after which the other side wins at the latest, see `overlooked`. `before` is
    then None, as no solver has reached the position, and `holding` has the moves that parry the threat.
    """

    ply: int
    seat: int
    seed: int
    actions: tuple[int, ...]
    played: int
    holding: tuple[int, ...]
    losing: tuple[int, ...]
    before: float | None
    after: float
    steps: int | None = None

    @classmethod
    def of(cls, row: Any) -> Blunder:
        """Return the position that a row of the site or an answer of its API has in fields of these names."""
        found: dict[str, Any] = {one.name: getattr(row, one.name) for one in fields(cls)}
        for name in ("actions", "holding", "losing"):
            found[name] = tuple(found[name])
        return cls(**found)

    def is_found(self, action: int) -> bool | None:
        """Return whether a move keeps the value; None for one that is not solved."""
        return True if action in self.holding else False if action in self.losing else None


def blunders(
    spec: EnvironmentSpec,
    record: MatchRecord,
    positions: Sequence[Position],
    *,
    still_wanted: Callable[[], None] = lambda: None,
) -> list[Blunder]:
    """Return the worst mistakes of both seats of a solved match as positions, in order, before them the threat that was
    overlooked where a solver sees only what came after it. Raises as `solve_match`."""
    found = mistakes(record, positions)
    kept = [one for seat in (0, 1) for one in worst(found, seat)]
    missed = overlooked(spec, record, positions)
    threats = [] if missed is None else [_threat(spec, record, missed)]
    return threats + [
        _blunder(spec, record, positions, one, still_wanted) for one in sorted(kept, key=lambda one: one.ply)
    ]


def frame_at(spec: EnvironmentSpec, blunder: Blunder) -> tuple[Frame, str]:
    """Return the position as a frame and as text. Raises what the rules raise for actions that do not fit."""
    environment = spec.make()
    begin(environment, blunder.seed, blunder.actions)
    return environment.frame(), environment.text()


def _threat(spec: EnvironmentSpec, record: MatchRecord, missed: Overlooked) -> Blunder:
    ply = missed.ply - 1
    actions, played = record.actions[:ply], record.actions[ply]
    environment = spec.make()
    begin(environment, record.seed, actions)
    valid = (int(action) for action in environment.observe(missed.seat).valid_actions)
    losing = tuple(action for action in valid if action not in missed.better)
    return Blunder(ply, missed.seat, record.seed, actions, played, missed.better, losing, None, 0.0, missed.steps)


def _blunder(
    spec: EnvironmentSpec,
    record: MatchRecord,
    positions: Sequence[Position],
    mistake: Mistake,
    still_wanted: Callable[[], None],
) -> Blunder:
    ply, seat = mistake.ply - 1, mistake.seat
    actions, played = record.actions[:ply], record.actions[ply]
    environment = spec.make()
    begin(environment, record.seed, actions)
    holding, losing, unsolved = set(positions[ply].best), {played}, 0
    for action in environment.observe(seat).valid_actions:
        if action in holding or action in losing or unsolved == UNSOLVED:
            continue
        still_wanted()
        value = _value(spec, record.seed, (*actions, action), seat)
        if value is None:
            unsolved += 1
        else:
            (holding if value >= mistake.before else losing).add(action)
    return Blunder(
        ply,
        seat,
        record.seed,
        actions,
        played,
        tuple(sorted(holding)),
        tuple(sorted(losing)),
        (mistake.before + 1) / 2,
        (mistake.after + 1) / 2,
    )


def _value(spec: EnvironmentSpec, seed: int, actions: tuple[int, ...], seat: int) -> int | None:
    """Return the value for a seat after these actions; None where it is not solved."""
    environment = spec.make()
    scores = begin(environment, seed, actions)
    if not environment.to_move:
        return (scores[seat] > scores[1 - seat]) - (scores[seat] < scores[1 - seat])
    solver = match_solver(spec, seed, actions, NODES)
    assert solver is not None
    try:
        value = solver.at(len(actions)).value
    except NotSolved:
        return None
    return value if environment.to_move[0] == seat else -value
