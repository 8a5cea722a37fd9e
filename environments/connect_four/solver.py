"""Finds forced wins in Connect Four, for openings: a position that one side has won already is not a fair start.

Nearly every position of Connect Four is won by one side with perfect play, which takes too long to find out and which
few agents could follow. So a position counts as decided when a side wins by force within a few plies: the player to
move within WIN_PLIES, or its opponent, whatever the player to move does, within the next LOSS_PLIES. In such a line
each move of the winner threatens a four, so that the other side has a single reply. Wins that need a quiet move or
zugzwang are not found.
"""

from __future__ import annotations

from functools import lru_cache

from arena_kit.environment.protocol import Environment

from .rules import COLUMNS, ROWS

WIN_PLIES = 9
"""The longest forced win of the player to move, in plies of both sides."""
LOSS_PLIES = 7
"""The longest forced win of its opponent after any move of the player to move, in plies of both sides."""
_COLUMN = 0b111111
_BOTTOM = sum(1 << 7 * column for column in range(COLUMNS))
_BOARD = _BOTTOM * _COLUMN


def is_decided(environment: Environment) -> bool:
    """Return whether one of the two wins by force within a few plies."""
    *cells, player = map(int, environment.observe(0).observation)
    mine = taken = 0
    for index, mark in enumerate(cells):
        if mark:
            row, column = divmod(index, COLUMNS)
            # Seven bits per column, from the bottom; the top one is always empty.
            bit = 1 << 7 * column + ROWS - 1 - row
            taken |= bit
            mine |= bit if mark == player else 0
    return _is_decided(mine, taken)


@lru_cache(maxsize=16384)
def _is_decided(mine: int, taken: int) -> bool:
    if _wins(mine, taken, WIN_PLIES):
        return True
    return all(_wins(mine ^ taken, taken | move, LOSS_PLIES) for move in _moves(taken))


def _wins(mine: int, taken: int, plies: int) -> bool:
    """Return whether the side to move wins within this number of plies by threats that the other side must answer."""
    moves = (taken + _BOTTOM) & _BOARD
    if _fours(mine, taken) & moves:
        return True
    if plies < 3:
        return False
    # A four that the other side threatens must be prevented; two cannot be.
    danger = _fours(mine ^ taken, taken) & moves
    if danger:
        moves = danger if danger & (danger - 1) == 0 else 0
    while moves:
        move = moves & -moves
        moves ^= move
        ours, all_taken = mine | move, taken | move
        reachable = (all_taken + _BOTTOM) & _BOARD
        threats = _fours(ours, all_taken) & reachable
        # Without a threat, or where the other side wins first, the line ends.
        if not threats or _fours(ours ^ all_taken, all_taken) & reachable:
            continue
        if threats & (threats - 1) or _wins(ours, all_taken | threats, plies - 2):
            return True
    return False


def _moves(taken: int) -> list[int]:
    moves = (taken + _BOTTOM) & _BOARD
    return [moves & _COLUMN << 7 * column for column in range(COLUMNS) if moves & _COLUMN << 7 * column]


def _fours(stones: int, taken: int) -> int:
    """Return the empty cells that complete a four for these stones."""
    cells = (stones << 1) & (stones << 2) & (stones << 3)
    for step in (6, 7, 8):  # diagonal down, row, diagonal up
        pair = (stones << step) & (stones << 2 * step)
        cells |= pair & ((stones << 3 * step) | (stones >> step))
        pair = (stones >> step) & (stones >> 2 * step)
        cells |= pair & ((stones >> 3 * step) | (stones << step))
    return cells & _BOARD & ~taken
