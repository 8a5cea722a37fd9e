"""The value of every position of a match, by the solver of its environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay import ReplayMismatch
from arena_kit.environment.solver import NotSolved
from arena_kit.environment.solving import match_solver
from arena_kit.environment.spec import EnvironmentSpec

NODES = 2_000_000
"""Positions that a solver may look at for one match: 10 to 20 s of one core. Connect Four is then nearly always solved
from the tenth move on, and Quarto from the seventh."""


@dataclass(frozen=True, slots=True)
class Position:
    """One position of a match. ply: the number of steps before it. to_move: the seat that moves; None at the end.

    value: how the match ends for seat 0 with perfect play, 1 for a win, 0 for a draw, -1 for a loss; None where the
    position is not solved. plies: the steps to that end. best: the actions that lead there.
    """

    ply: int
    to_move: int | None
    value: int | None = None
    plies: int | None = None
    best: tuple[int, ...] = ()

    def value_for(self, seat: int) -> int | None:
        """Return the value for a seat."""
        return self.value if self.value is None or seat == 0 else -self.value


def solve_match(
    spec: EnvironmentSpec, record: MatchRecord, *, nodes: int = NODES, still_wanted: Callable[[], None] = lambda: None
) -> tuple[Position, ...]:
    """Return the positions of a match, from its start to its end, solved from the end backwards.

    The positions that are left when the solver has looked at `nodes` positions are not solved. still_wanted: called
    before each position; may raise to stop. Raises ReplayMismatch for a record that does not fit the rules, and
    ValueError if the environment has no solver, BrokenEnvironment if that of an organiser's folder fails.
    """
    movers = _movers(spec, record)
    solver = match_solver(spec, record.seed, record.actions, nodes)
    if solver is None:
        raise ValueError(f"{spec.id} has no solver.")
    found: list[Position] = []
    is_solved = True
    for ply, seats in reversed(list(enumerate(movers))):
        still_wanted()
        if not seats:
            first, second = (record.scores[player] for player in record.seats)
            found.append(Position(ply, None, (first > second) - (first < second), 0))
            continue
        position = Position(ply, seats[0])
        if is_solved:
            try:
                solution = solver.at(ply)
            except NotSolved:
                is_solved = False
            else:
                sign = 1 if seats[0] == 0 else -1
                position = Position(ply, seats[0], sign * solution.value, solution.plies, solution.best)
        found.append(position)
    return tuple(reversed(found))


def _movers(spec: EnvironmentSpec, record: MatchRecord) -> list[tuple[int, ...]]:
    """Return the seats that move before each action of a record, and after the last. Raises ReplayMismatch."""
    environment = spec.make()
    environment.reset(record.seed)
    found = [environment.to_move]
    for action in record.actions:
        if len(found[-1]) != 1:
            raise ReplayMismatch(f"Match {record.number} does not fit the rules of {spec.id}.")
        try:
            environment.step({found[-1][0]: action})
        except Exception as error:
            raise ReplayMismatch(f"Match {record.number} does not fit the rules of {spec.id}: {error}") from None
        found.append(environment.to_move)
    return found
