"""Solves the positions of a match: here, or in the environment server where the code of its folder runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arena_kit.environment.protocol import Action, BrokenEnvironment
from arena_kit.environment.server.client import server_of
from arena_kit.environment.server.frames import ServerKind
from arena_kit.environment.solver import MatchSolverHere, NotSolved, Solution, positions_of, solver_of
from arena_kit.environment.spec import EnvironmentSpec


class MatchSolver(Protocol):
    """Solves the positions of one match by the number of actions before them, best from the last to the first."""

    def at(self, ply: int) -> Solution:
        """Return the solution of a position in which a seat is to move. Raises NotSolved."""


def match_solver(spec: EnvironmentSpec, seed: int, actions: Sequence[Action], nodes: int) -> MatchSolver | None:
    """Return what solves a match, which must fit the rules; None for an environment without a solver.

    The solver of an organiser's folder runs in the environment server, as all of the folder's code does.
    """
    if not spec.solver:
        return None
    if spec.runs_apart:
        return RemoteSolver(spec, seed, tuple(actions), nodes)
    solver = solver_of(spec, nodes)
    assert solver is not None
    return MatchSolverHere(solver, positions_of(spec.make(), seed, actions))


@dataclass(frozen=True, slots=True)
class RemoteSolver:
    """Solves the positions of a match in the server of its environment, which keeps what its solver has learned."""

    spec: EnvironmentSpec
    seed: int
    actions: tuple[Action, ...]
    nodes: int

    def at(self, ply: int) -> Solution:
        """Like `MatchSolver`. Raises NotSolved and BrokenEnvironment."""
        question = [self.seed, list(self.actions), self.nodes, ply]
        said = server_of(self.spec).data(ServerKind.SOLVE, question)
        if said is None:
            raise NotSolved
        try:
            value, plies, best = said
            if value in (-1, 0, 1) and plies >= 0 and all(type(one) is int for one in (value, plies, *best)):
                return Solution(value, plies, tuple(best))
        except (TypeError, ValueError):
            pass
        raise BrokenEnvironment(f"{self.spec.id}: a solution does not fit.")
