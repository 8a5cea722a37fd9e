"""Finds forced wins in Quarto, for openings: a position that one side has won already is not a fair start.

A position counts as decided in three cases. The player to move can complete a line. Or whatever it does, its opponent
can complete one. Or it has a move after which the same holds for its opponent, so that it wins within three plies.
Longer wins are not looked for.
"""

from __future__ import annotations

from functools import lru_cache

from arena_kit.environment.protocol import Environment

from .rules import LINES

# A piece is eight bits: the four traits that it has and, above them, those that it lacks. A line is the bits that its
# pieces have in common and, above them, the number of its empty cells.
_TRAITS = tuple(piece | (~piece & 15) << 4 for piece in range(16))
_EMPTY = 0x100
_THROUGH = tuple(tuple(number for number, line in enumerate(LINES) if cell in line) for cell in range(16))

Lines = tuple[int, ...]
Cells = tuple[int, ...]


def is_decided(environment: Environment) -> bool:
    """Return whether the player to move wins by force within three plies, or loses within two."""
    *cells, hand = map(int, environment.observe(0).observation)
    return _is_decided(tuple(cells), hand)


@lru_cache(maxsize=16384)
def _is_decided(cells: Cells, hand: int) -> bool:
    lines: Lines = (4 * _EMPTY | 0xFF,) * len(LINES)
    for cell, piece in enumerate(cells):
        if piece >= 0:
            lines = _placed(lines, cell, piece)
    free = tuple(cell for cell in range(16) if cells[cell] < 0)
    reserve = tuple(piece for piece in range(16) if piece != hand and piece not in cells)
    if _TRAITS[hand] & _wanted(lines) or _loses(lines, free, hand, reserve):
        return True
    for cell in free:
        after = _placed(lines, cell, hand)
        wanted = _wanted(after)
        safe = [piece for piece in reserve if not _TRAITS[piece] & wanted]
        left = tuple(other for other in free if other != cell)
        # With a cell that makes no line of three and another safe piece, the opponent is not lost.
        if len(safe) > 1 and any(all(after[number] >> 8 != 2 for number in _THROUGH[other]) for other in left):
            continue
        if any(_loses(after, left, piece, tuple(other for other in reserve if other != piece)) for piece in safe):
            return True
    return False


def _loses(lines: Lines, free: Cells, hand: int, reserve: tuple[int, ...]) -> bool:
    """Return whether every move leaves the other side a win at once; the mover itself cannot win at once."""
    for cell in free:
        wanted = _wanted(_placed(lines, cell, hand))
        if any(not _TRAITS[piece] & wanted for piece in reserve):
            return False
    return bool(reserve)


def _placed(lines: Lines, cell: int, piece: int) -> Lines:
    """Return the lines after a piece is placed on a cell."""
    after = list(lines)
    for number in _THROUGH[cell]:
        after[number] = (after[number] & (_TRAITS[piece] | -_EMPTY)) - _EMPTY
    return tuple(after)


def _wanted(lines: Lines) -> int:
    """Return the traits with which a piece completes a line now."""
    traits = 0
    for line in lines:
        if _EMPTY <= line < 2 * _EMPTY:
            traits |= line
    return traits & 0xFF
