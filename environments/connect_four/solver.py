"""Solves Connect Four, and finds the positions that are decided too early to be a fair start.

A position is two numbers with seven bits per column, from the bottom; the top one is always empty. `mine` has the
pieces of the side to move, `taken` those of both. The search is the one of Pascal Pons ("Solving Connect 4: how to
build a perfect AI"): alpha-beta in null windows, with a table of positions, moves that make many threats first, and no
move that lets the other side win at once.
"""

from __future__ import annotations

from array import array
from functools import lru_cache

from arena_kit.environment.protocol import Environment
from arena_kit.environment.solver import NotSolved, Solution

from .rules import COLUMNS, ROWS

WIN_PLIES = 9
"""The longest forced win of the player to move that decides an opening, in plies of both sides."""
LOSS_PLIES = 7
"""The longest such win of its opponent after any move of the player to move, in plies of both sides."""
_CELLS = ROWS * COLUMNS
_TABLE_SIZE = 1_048_583
"""Entries of the table of positions, a prime; each takes nine bytes, and a newer one replaces an older one."""
_LOWER = 80
"""Added to a bound in the table that is a lower one; scores lie between -21 and 21."""
_COLUMN = 0b111111
_BOTTOM = sum(1 << 7 * column for column in range(COLUMNS))
_BOARD = _BOTTOM * _COLUMN
_FROM_CENTRE = tuple(_COLUMN << 7 * column for column in (3, 2, 4, 1, 5, 0, 6))


def is_decided(environment: Environment) -> bool:
    """Return whether one of the two wins within a few plies by threats that the other side must answer.

    Nearly every position is won by one side with perfect play, which few agents could follow. So an opening counts as
    decided only when a side wins by force within a few plies: the player to move within WIN_PLIES, or its opponent,
    whatever the player to move does, within the next LOSS_PLIES. Openings depend on both numbers: another number needs
    a new version of the rules.
    """
    return _is_decided(*_position(environment))


class Solver:
    """Solves the positions of a match. nodes: the number of positions that it may look at in all."""

    def __init__(self, nodes: int) -> None:
        self._left = nodes
        self._keys = array("Q", bytes(8 * _TABLE_SIZE))
        self._bounds = array("b", bytes(_TABLE_SIZE))

    def solve(self, environment: Environment) -> Solution:
        """Return the solution of a position in which a seat is to move. Raises NotSolved."""
        mine, taken = _position(environment)
        count = taken.bit_count()
        score = self._score(mine, taken, count)
        best = tuple(column for column in range(COLUMNS) if self._reaches(mine, taken, count, column, score))
        # The last stone goes onto 42 - 2 * |score| others, or onto one more, as it is the winner's turn.
        last = _CELLS - 2 * abs(score) + (count + (score < 0)) % 2
        return Solution((score > 0) - (score < 0), (last + 1 if score else _CELLS) - count, best)

    def _score(self, mine: int, taken: int, count: int) -> int:
        """Return the score of a position: 1 for a win with one's last stone, 2 with the one before, and so on.

        Below 0 for a loss, 0 for a draw. It is found by halving the range in which it lies.
        """
        if _fours(mine, taken) & (taken + _BOTTOM):
            return (_CELLS + 1 - count) // 2
        low, high = -((_CELLS - count) // 2), (_CELLS + 1 - count) // 2
        while low < high:
            middle = low + (high - low) // 2
            # The fact that a side wins at all is cheaper to find out than how soon.
            if middle <= 0 and int(low / 2) < middle:
                middle = int(low / 2)
            elif middle >= 0 and int(high / 2) > middle:
                middle = int(high / 2)
            found = self._search(mine, taken, count, middle, middle + 1)
            low, high = (low, found) if found <= middle else (found, high)
        return low

    def _reaches(self, mine: int, taken: int, count: int, column: int, score: int) -> bool:
        """Return whether a move into a column is legal and has the score of the position."""
        move = (taken + _BOTTOM) & _COLUMN << 7 * column
        if not move:
            return False
        if wins := _fours(mine, taken) & (taken + _BOTTOM):
            return bool(wins & move)
        theirs, after = mine ^ taken, taken | move
        if _fours(theirs, after) & (after + _BOTTOM):
            return -((_CELLS - count) // 2) == score
        return self._search(theirs, after, count + 1, -score, 1 - score) <= -score

    def _search(self, mine: int, taken: int, count: int, low: int, high: int) -> int:
        """Return the score of a position, or a bound where it is at most `low` or at least `high`.

        The side to move has no winning move. count: the stones on the board. Raises NotSolved.
        """
        self._left -= 1
        if self._left < 0:
            raise NotSolved
        moves = (taken + _BOTTOM) & _BOARD
        danger = _fours(mine ^ taken, taken)
        if forced := moves & danger:
            moves = 0 if forced & (forced - 1) else forced
        # A stone just below a winning cell of the other side lets it win.
        moves &= ~(danger >> 1)
        if not moves:
            return -((_CELLS - count) // 2)
        if count >= _CELLS - 2:
            return 0
        low, high = max(low, -((_CELLS - 2 - count) // 2)), min(high, (_CELLS - 1 - count) // 2)
        if low >= high:
            return low
        key = mine + taken
        slot = key % _TABLE_SIZE
        if self._keys[slot] == key:
            bound = self._bounds[slot]
            if bound > _LOWER // 2:
                low = max(low, bound - _LOWER)
            else:
                high = min(high, bound)
            if low >= high:
                return low
        for move in _ordered(mine, taken, moves):
            score = -self._search(mine ^ taken, taken | move, count + 1, -high, -low)
            if score >= high:
                self._keys[slot], self._bounds[slot] = key, score + _LOWER
                return score
            low = max(low, score)
        self._keys[slot], self._bounds[slot] = key, low
        return low


def _ordered(mine: int, taken: int, moves: int) -> list[int]:
    """Return the moves, those with the most threats first, and of equal ones the nearest to the centre."""
    if moves & (moves - 1) == 0:
        return [moves]
    found = [move for column in _FROM_CENTRE if (move := moves & column)]
    found.sort(key=lambda move: -_fours(mine | move, taken | move).bit_count())
    return found


def _position(environment: Environment) -> tuple[int, int]:
    """Return the stones of the side to move, and those of both."""
    *cells, player = map(int, environment.observe(0).observation)
    mine = taken = 0
    for index, mark in enumerate(cells):
        if mark:
            row, column = divmod(index, COLUMNS)
            bit = 1 << 7 * column + ROWS - 1 - row
            taken |= bit
            mine |= bit if mark == player else 0
    return mine, taken


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
    # Written out, because the search spends most of its time here: diagonal down, row, diagonal up.
    up, down = stones << 6, stones >> 6
    ahead, behind = up & stones << 12, down & stones >> 12
    cells = (stones << 1) & (stones << 2) & (stones << 3) | ahead & (stones << 18 | down) | behind & (stones >> 18 | up)
    up, down = stones << 7, stones >> 7
    ahead, behind = up & stones << 14, down & stones >> 14
    cells |= ahead & (stones << 21 | down) | behind & (stones >> 21 | up)
    up, down = stones << 8, stones >> 8
    ahead, behind = up & stones << 16, down & stones >> 16
    cells |= ahead & (stones << 24 | down) | behind & (stones >> 24 | up)
    return cells & _BOARD & ~taken
