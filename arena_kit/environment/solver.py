"""The solver's knowledge of a position: who wins with perfect play, and how soon.

An environment of two seats that move in turn may offer a solver by the key `solver` of its file, as it offers its
renderer. The arena has no game's rules: it makes a solver for a match and queries it about positions.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from arena_kit.environment.loading import load
from arena_kit.environment.protocol import Action, Environment
from arena_kit.environment.spec import EnvironmentSpec


class NotSolved(Exception):
    """The rest of the match is too long to be searched within the solver's number of positions."""


@dataclass(frozen=True, slots=True)
class Solution:
    """How a match goes on when both sides play perfectly.

    value: 1 if the seat to move wins, 0 for a draw, -1 if it loses. plies: the steps to the end, where the winner is as
    quick as possible and the loser as slow. best: the actions that lead there, ascending.
    """

    value: int
    plies: int
    best: tuple[int, ...]


class Solver(Protocol):
    """Solves the positions of one match; what it has learned of one position helps it with the others."""

    def solve(self, environment: Environment) -> Solution:
        """Return the solution of a position in which a seat is to move. Raises NotSolved."""


SolverFactory = Callable[[int], Solver]
"""Takes the number of positions that the solver may look at in all."""


def solver_of(spec: EnvironmentSpec, nodes: int) -> Solver | None:
    """Return a new solver for a match, which looks at `nodes` positions at most in all; None where there is none.

    The code of an environment from outside never runs in this process: `arena_kit.environment.solving` asks its server.
    """
    if not spec.solver or spec.runs_apart:
        return None
    factory: SolverFactory = load(spec.solver, spec.folder)
    return factory(nodes)


@dataclass(slots=True)
class MatchSolverHere:
    """A match whose positions are solved in this process. positions: before each action, and after the last."""

    solver: Solver
    positions: Sequence[Environment]

    def at(self, ply: int) -> Solution:
        return self.solver.solve(self.positions[ply])


def positions_of(environment: Environment, seed: int, actions: Sequence[Action]) -> list[Environment]:
    """Return copies of an environment before each action of a match, and after the last."""
    environment.reset(seed)
    found = [copy.deepcopy(environment)]
    for action in actions:
        environment.step({environment.to_move[0]: action})
        found.append(copy.deepcopy(environment))
    return found
