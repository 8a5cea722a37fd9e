"""Solves tic-tac-toe: who wins from a position with perfect play, and how soon. Openings use it as well, because a
position from which one side wins is not a fair start."""

from __future__ import annotations

from functools import cache

from arena_kit.environment.protocol import Environment
from arena_kit.environment.solver import Solution

from .rules import winning_line

_LATEST = 10
"""A win counts this much less the number of marks at its end, so that a quicker one counts more."""
Cells = tuple[int, ...]


def is_decided(environment: Environment) -> bool:
    """Return whether one of the two wins with perfect play; in all other positions, perfect play leads to a draw."""
    return _score(*_position(environment)) != 0


class Solver:
    """Solves every position at once: there are few."""

    def __init__(self, nodes: int) -> None:
        del nodes

    def solve(self, environment: Environment) -> Solution:
        """Return the solution of a position in which a seat is to move."""
        cells, player = _position(environment)
        scores = {cell: _score_after(cells, player, cell) for cell in range(9) if not cells[cell]}
        score = max(scores.values())
        marks = 9 - len(scores)
        end = 9 if score == 0 else _LATEST - abs(score)
        value = (score > 0) - (score < 0)
        return Solution(value, end - marks, tuple(cell for cell, found in scores.items() if found == score))


def _position(environment: Environment) -> tuple[Cells, int]:
    *cells, player = map(int, environment.observe(0).observation)
    return tuple(cells), player


@cache
def _score(cells: Cells, player: int) -> int:
    """Return the score of the player to move: above 0 if it wins, below 0 if it loses, 0 for a draw."""
    return max((_score_after(cells, player, cell) for cell in range(9) if not cells[cell]), default=0)


def _score_after(cells: Cells, player: int, cell: int) -> int:
    after = [*cells[:cell], player, *cells[cell + 1 :]]
    if winning_line(after, cell):
        return _LATEST - sum(map(abs, after))
    return -_score(tuple(after), -player)
