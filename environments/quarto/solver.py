"""Solves the rest of a match of Quarto, and finds the positions that are decided too early to be a fair start.

A position is the lines, the free cells, the piece in hand and the pieces that are left. The search is alpha-beta with a
table of positions; positions that differ only in how the traits are named are one entry of it.
"""

from __future__ import annotations

from functools import lru_cache

from arena_kit.environment.protocol import Environment
from arena_kit.environment.solver import NotSolved, Solution

from .rules import LINES

# A piece is eight bits: the four traits that it has and, above them, those that it lacks. A line is the bits that its
# pieces have in common and, above them, the number of its empty cells.
_TRAITS = tuple(piece | (~piece & 15) << 4 for piece in range(16))
_EMPTY = 0x100
_LATEST = 17
"""A win counts this much less the number of moves at its end, so that a quicker one counts more."""
_COST = 5
"""How many positions one of Quarto counts for: it takes so much longer than one of Connect Four, and more memory."""
_THROUGH = tuple(tuple(number for number, line in enumerate(LINES) if cell in line) for cell in range(16))

Lines = tuple[int, ...]
Cells = tuple[int, ...]


def is_decided(environment: Environment) -> bool:
    """Return whether the player to move wins by force within three plies, or loses within two.

    There are three cases. The player to move can complete a line. Or whatever it does, its opponent can complete one.
    Or it has a move after which the same holds for its opponent. Longer wins do not count: openings depend on these
    numbers, so that others need a new version of the rules.
    """
    *cells, hand = map(int, environment.observe(0).observation)
    return _is_decided(tuple(cells), hand)


class Solver:
    """Solves the positions of a match. nodes: the number of positions that it may look at in all."""

    def __init__(self, nodes: int) -> None:
        self._left = nodes // _COST
        self._bounds: dict[int, tuple[int, int]] = {}
        """By position: the least and the greatest score that it can have."""

    def solve(self, environment: Environment) -> Solution:
        """Return the solution of a position in which a seat is to move. Raises NotSolved."""
        *cells, hand = map(int, environment.observe(0).observation)
        lines, free, reserve = _parts(tuple(cells), hand)
        winning = [cell for cell in free if _TRAITS[hand] & _wanted_at(lines, cell)]
        score, best = -_LATEST, list[int]()
        for cell in winning or free:
            for piece in reserve:
                # A window that begins just below the best score tells equal scores from lower ones.
                found = self._after(lines, tuple(cells), free, reserve, hand, cell, piece, score - 1, _LATEST)
                best = [*(best if found == score else ()), 16 * cell + piece] if found >= score else best
                score = max(score, found)
        plies = len(reserve) if score == 0 else _LATEST - abs(score) - (16 - len(free))
        return Solution((score > 0) - (score < 0), plies, tuple(best))

    def _score(
        self, lines: Lines, cells: Cells, free: Cells, reserve: tuple[int, ...], hand: int, low: int, high: int
    ) -> int:
        """Return the score of the side to move, or a bound where it is at most `low` or at least `high`.

        A win counts _LATEST less the number of moves at its end, a draw 0. Raises NotSolved.
        """
        self._left -= 1
        if self._left < 0:
            raise NotSolved
        moves = 16 - len(free)
        if _TRAITS[hand] & _wanted(lines):
            return _LATEST - moves - 1
        key = _key(cells, hand)
        least, most = self._bounds.get(key, (-_LATEST, _LATEST))
        low, high = max(low, least), min(high, most)
        if low >= high:
            return low
        found, floor = -_LATEST, low
        for cell in free:
            after = _placed(lines, cell, hand)
            wanted = _wanted(after)
            for piece in reserve:
                if _TRAITS[piece] & wanted:
                    # The other side completes a line, at once if this is the last piece.
                    score = -(_LATEST - moves - (1 if len(reserve) == 1 else 2))
                else:
                    score = self._after(lines, cells, free, reserve, hand, cell, piece, floor, high)
                found = max(found, score)
                floor = max(floor, found)
                if floor >= high:
                    self._bounds[key] = (found, most)
                    return found
        self._bounds[key] = (least, found) if found <= low else (found, found)
        return found

    def _after(
        self,
        lines: Lines,
        cells: Cells,
        free: Cells,
        reserve: tuple[int, ...],
        hand: int,
        cell: int,
        piece: int,
        low: int,
        high: int,
    ) -> int:
        """Return the score of placing the piece in hand on a cell and handing over another one."""
        moves = 16 - len(free)
        if _TRAITS[hand] & _wanted_at(lines, cell):
            return _LATEST - moves - 1
        after = _placed(lines, cell, hand)
        if len(reserve) == 1:
            return -(_LATEST - moves - 1) if _TRAITS[piece] & _wanted(after) else 0
        placed = (*cells[:cell], hand, *cells[cell + 1 :])
        left, rest = tuple(one for one in free if one != cell), tuple(one for one in reserve if one != piece)
        return -self._score(after, placed, left, rest, piece, -high, -low)


def _parts(cells: Cells, hand: int) -> tuple[Lines, Cells, tuple[int, ...]]:
    """Return the lines, the free cells and the pieces that are left."""
    lines: Lines = (4 * _EMPTY | 0xFF,) * len(LINES)
    for cell, piece in enumerate(cells):
        if piece >= 0:
            lines = _placed(lines, cell, piece)
    free = tuple(cell for cell in range(16) if cells[cell] < 0)
    return lines, free, tuple(piece for piece in range(16) if piece != hand and piece not in cells)


def _key(cells: Cells, hand: int) -> int:
    """Return a number for a position in which each trait that the piece in hand has is called missing."""
    key = 0
    for piece in cells:
        key = key << 5 | (16 if piece < 0 else piece ^ hand)
    return key


@lru_cache(maxsize=16384)
def _is_decided(cells: Cells, hand: int) -> bool:
    lines, free, reserve = _parts(cells, hand)
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


def _wanted_at(lines: Lines, cell: int) -> int:
    """Return the traits with which a piece completes a line on a cell."""
    traits = 0
    for number in _THROUGH[cell]:
        if _EMPTY <= lines[number] < 2 * _EMPTY:
            traits |= lines[number]
    return traits & 0xFF


def _wanted(lines: Lines) -> int:
    """Return the traits with which a piece completes a line now."""
    traits = 0
    for line in lines:
        if _EMPTY <= line < 2 * _EMPTY:
            traits |= line
    return traits & 0xFF
