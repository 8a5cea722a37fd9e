"""Solves tic-tac-toe, for openings: a position from which one side wins with perfect play is not a fair start."""

from __future__ import annotations

from functools import cache

from arena_kit.environment.protocol import Environment

from .rules import winning_line


def is_decided(environment: Environment) -> bool:
    """Return whether one of the two wins with perfect play; in all other positions, perfect play leads to a draw."""
    *cells, player = map(int, environment.observe(0).observation)
    return _value(tuple(cells), player) != 0


@cache
def _value(cells: tuple[int, ...], player: int) -> int:
    """Return 1 if the player to move wins, -1 if it loses, 0 for a draw."""
    best = -1
    for cell in range(9):
        if cells[cell]:
            continue
        after = [*cells[:cell], player, *cells[cell + 1 :]]
        if winning_line(after, cell):
            return 1
        best = max(best, 0 if 0 not in after else -_value(tuple(after), -player))
    return best
