"""The value of every position of a match, by the solver of its environment."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

from arena_kit.environment.protocol import Environment
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay import ReplayMismatch
from arena_kit.environment.solver import NotSolved, solver_of
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
    ValueError if the environment has no solver.
    """
    solver = solver_of(spec, nodes)
    if solver is None:
        raise ValueError(f"{spec.id} has no solver.")
    states = _states(spec, record)
    found: list[Position] = []
    is_solved = True
    for ply, environment in reversed(list(enumerate(states))):
        still_wanted()
        seats = environment.to_move
        if not seats:
            first, second = (record.scores[player] for player in record.seats)
            found.append(Position(ply, None, (first > second) - (first < second), 0))
            continue
        position = Position(ply, seats[0])
        if is_solved:
            try:
                solution = solver.solve(environment)
            except NotSolved:
                is_solved = False
            else:
                sign = 1 if seats[0] == 0 else -1
                position = Position(ply, seats[0], sign * solution.value, solution.plies, solution.best)
        found.append(position)
    return tuple(reversed(found))


def _states(spec: EnvironmentSpec, record: MatchRecord) -> list[Environment]:
    """Return the environment before each action of a record, and after the last. Raises ReplayMismatch."""
    environment = spec.make()
    environment.reset(record.seed)
    states = [copy.deepcopy(environment)]
    for action in record.actions:
        seats = environment.to_move
        if len(seats) != 1:
            raise ReplayMismatch(f"Match {record.number} does not fit the rules of {spec.id}.")
        try:
            environment.step({seats[0]: action})
        except Exception as error:
            raise ReplayMismatch(f"Match {record.number} does not fit the rules of {spec.id}: {error}") from None
        states.append(copy.deepcopy(environment))
    return states
