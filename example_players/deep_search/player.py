"""Searches deeper than `minimax`, with bitboards, forced moves and iterative deepening within a budget of positions.

The budget is a number of positions and not a time, so the player is deterministic and as strong on a slow machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

CONNECT_FOUR_POSITIONS = 800
QUARTO_POSITIONS = 800
WIN = 10_000


class BudgetUsed(Exception):
    """The search has looked at as many positions as one move may cost."""


# --- Tic-tac-toe, which is solved -------------------------------------------------------------------------

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@cache
def solve_tic_tac_toe(cells: tuple[int, ...], player: int) -> tuple[float, int]:
    """Return the value for the player to move and the best cell.

    A won position has the value 1 and a lost one -1. The value of a draw is a little higher when more of the moves win.
    So among moves that are equal against perfect play, this prefers those that give the opponent more ways to make a
    mistake.
    """
    free = [cell for cell in range(9) if not cells[cell]]
    values: dict[int, float] = {}
    for cell in free:
        after = (*cells[:cell], player, *cells[cell + 1 :])
        if any(all(after[other] == player for other in line) for line in LINES if cell in line):
            values[cell] = 1.0
        else:
            values[cell] = -solve_tic_tac_toe(after, -player)[0] if len(free) > 1 else 0.0
    best = max(values, key=lambda cell: values[cell])
    value = values[best]
    return (value if abs(value) == 1 else value / 2 + sum(values.values()) / (100 * len(free))), best


# --- Connect Four, with an integer per side: seven bits per column, of which the top one is always empty -----

COLUMN = 0b111111
BOTTOM = sum(1 << 7 * column for column in range(7))
BOARD = BOTTOM * COLUMN
ODD_ROWS = BOTTOM * 0b010101
EVEN_ROWS = BOTTOM * 0b101010
COLUMNS_FROM_CENTRE = [(column, COLUMN << 7 * column) for column in (3, 2, 4, 1, 5, 0, 6)]
# The number of lines of four through each cell, bottom to top, for the columns 0 to 3; the others mirror them.
LINES_THROUGH = ((3, 4, 5, 5, 4, 3), (4, 6, 8, 8, 6, 4), (5, 8, 11, 11, 8, 5), (7, 10, 13, 13, 10, 7))
WORTH = {1 << 7 * c + r: LINES_THROUGH[min(c, 6 - c)][r] for c in range(7) for r in range(6)}
THREAT, GOOD_THREAT = 4, 8


def winning_cells(stones: int, taken: int) -> int:
    """Return the empty cells, reachable now or later, that complete a four for these stones."""
    cells = (stones << 1) & (stones << 2) & (stones << 3)
    for step in (6, 7, 8):  # diagonal down, row, diagonal up
        pair = (stones << step) & (stones << 2 * step)
        cells |= pair & ((stones << 3 * step) | (stones >> step))
        pair = (stones >> step) & (stones >> 2 * step)
        cells |= pair & ((stones >> 3 * step) | (stones << step))
    return cells & BOARD & ~taken


# What a search remembers of a position: the depth searched, the bounds of the value, and the best cell.
Known = tuple[int, int, int, int]
UNKNOWN: Known = (-1, -2 * WIN, 2 * WIN, 0)


class ConnectFourSearch:
    """A search from one position. Positions are (stones of the side to move, all stones)."""

    def __init__(self, state: Sequence[int]) -> None:
        self._mine = self._taken = self._score = 0
        for index, mark in enumerate(state[:42]):
            if mark:
                row, column = divmod(index, 7)
                cell = 1 << 7 * column + 5 - row
                self._taken |= cell
                self._mine |= cell if mark == state[42] else 0
                self._score += WORTH[cell] * mark * state[42]
        self._left = CONNECT_FOUR_POSITIONS
        self._known: dict[tuple[int, int], Known] = {}

    def best_column(self) -> int:
        """Return the best column of the deepest search within the budget."""
        mine, taken = self._mine, self._taken
        reachable = (taken + BOTTOM) & BOARD
        wins = winning_cells(mine, taken) & reachable
        threats = winning_cells(mine ^ taken, taken)
        # Win if possible; else prevent a win, even if there are two, because the opponent may overlook the other; else
        # avoid opening a cell with which the opponent wins.
        moves = wins or reachable & threats or reachable & ~(threats >> 1) or reachable
        columns = [column for column, cells in COLUMNS_FROM_CENTRE if moves & cells]
        try:
            for depth in range(2, 42 - taken.bit_count() + 1):
                if wins or len(columns) == 1:
                    break
                columns = self._search_root(columns, moves, depth)
        except BudgetUsed:
            pass  # the result of the last complete depth counts
        return columns[0]

    def _search_root(self, columns: list[int], moves: int, depth: int) -> list[int]:
        """Return the columns with the best one first and the others in their order."""
        chosen, best = columns[0], -2 * WIN
        for column in columns:
            cell = moves & (COLUMN << 7 * column)
            after = (self._mine ^ self._taken, self._taken | cell)
            value = -self._search(after, -self._score - WORTH[cell], depth - 1, -2 * WIN, -best)
            if value > best:
                chosen, best = column, value
        return [chosen, *(column for column in columns if column != chosen)]

    def _search(self, position: tuple[int, int], score: int, depth: int, alpha: int, beta: int) -> int:
        """Return the value for the side to move, or a bound if it is outside alpha to beta. Raises BudgetUsed."""
        self._left -= 1
        if self._left < 0:
            raise BudgetUsed
        mine, taken = position
        moves = (taken + BOTTOM) & BOARD
        if not moves:
            return 0
        stones = taken.bit_count()
        chances = winning_cells(mine, taken)
        if chances & moves:
            return WIN - stones
        threats = winning_cells(mine ^ taken, taken)
        forced = moves & threats
        # Keep only moves that neither leave the opponent a win nor open a cell with which the opponent wins.
        moves = (forced or moves) & ~(threats >> 1)
        if not moves or forced & (forced - 1):
            return stones + 1 - WIN
        if depth <= 0:
            return score + worth_of_threats(chances, threats, stones)
        searched, low, high, first = self._known.get(position, UNKNOWN)
        if searched >= depth and (low >= beta or high <= alpha or low == high):
            return low if low >= beta else high
        best, best_cell, floor = -2 * WIN, 0, alpha
        for cell in self._ordered(moves, first):
            after = (mine ^ taken, taken | cell)
            value = -self._search(after, -score - WORTH[cell], depth - 1, -beta, -floor)
            if value > best:
                best, best_cell, floor = value, cell, max(floor, value)
                if best >= beta:
                    break
        low = best if best > alpha else -2 * WIN
        high = best if best < beta else 2 * WIN
        self._known[position] = (depth, low, high, best_cell)
        return best

    @staticmethod
    def _ordered(moves: int, first: int) -> list[int]:
        """Return the moves as one bit each: the best one of an earlier search first, then from the centre outwards."""
        cells = [cell for _, column in COLUMNS_FROM_CENTRE if (cell := moves & column)]
        if first in cells:
            cells.remove(first)
            cells.insert(0, first)
        return cells


def worth_of_threats(chances: int, threats: int, stones: int) -> int:
    """Return the worth, for the side to move, of the cells that complete a four later.

    When the board fills up, the first seat plays on odd rows and the second on even rows, so threats there count more
    (Allis, A Knowledge-based Approach of Connect-Four, 1988).
    """
    my_rows, their_rows = (ODD_ROWS, EVEN_ROWS) if stones % 2 == 0 else (EVEN_ROWS, ODD_ROWS)
    number = chances.bit_count() - threats.bit_count()
    good = (chances & my_rows).bit_count() - (threats & their_rows).bit_count()
    return THREAT * number + GOOD_THREAT * good


# --- Quarto, with an integer per line ----------------------------------------------------------------------

# A piece is eight bits: the four traits that it has and, above them, those that it lacks. A line is the bits that its
# pieces have in common and, above them, the number of its empty cells.
TRAITS = [piece | (~piece & 15) << 4 for piece in range(16)]
EMPTY = 0x100
QUARTO_LINES = (
    *(tuple(range(4 * row, 4 * row + 4)) for row in range(4)),
    *(tuple(range(column, 16, 4)) for column in range(4)),
    (0, 5, 10, 15),
    (3, 6, 9, 12),
)
THROUGH = [[number for number, line in enumerate(QUARTO_LINES) if cell in line] for cell in range(16)]

# The lines, the free cells, the piece in hand, and the remaining pieces.
QuartoPosition = tuple[tuple[int, ...], tuple[int, ...], int, tuple[int, ...]]


def placed(lines: tuple[int, ...], cell: int, piece: int) -> tuple[int, ...]:
    """Return the lines after a piece is placed on a cell."""
    after = list(lines)
    for number in THROUGH[cell]:
        after[number] = (after[number] & (TRAITS[piece] | -EMPTY)) - EMPTY
    return tuple(after)


def wanted(lines: tuple[int, ...]) -> int:
    """Return the traits with which a piece can complete a line now."""
    traits = 0
    for line in lines:
        if line < 2 * EMPTY and line >= EMPTY:
            traits |= line
    return traits & 0xFF


class QuartoSearch:
    """Proves wins and losses as deep as the budget allows."""

    def __init__(self, state: Sequence[int]) -> None:
        lines: tuple[int, ...] = (4 * EMPTY | 0xFF,) * len(QUARTO_LINES)
        for cell, piece in enumerate(state[:16]):
            if piece >= 0:
                lines = placed(lines, cell, piece)
        free = tuple(cell for cell in range(16) if state[cell] < 0)
        self._root: QuartoPosition = (lines, free, state[16], tuple(p for p in range(16) if p not in state))
        self._left = QUARTO_POSITIONS
        self._proved: dict[tuple[QuartoPosition, int], bool] = {}

    def best_action(self) -> int:
        """Return a proven win, or else the action not proven lost that leaves the opponent the fewest safe pieces."""
        lines, free, hand, reserve = self._root
        if TRAITS[hand] & wanted(lines):
            cell = next(cell for cell in free if self._completes(lines, cell, hand))
            return 16 * cell + reserve[0]
        actions = list(self._actions(self._root))
        if not actions:
            return 16 * free[0] + reserve[0]
        # The sort is stable, so equal actions keep their order.
        actions.sort(key=lambda item: self._safe_count(item[1]))
        try:
            for depth in range(len(free)):
                kept = []
                for action, after in actions:
                    if self._loses(after, depth):
                        return action
                    if not self._wins(after, depth):
                        kept.append((action, after))
                if not kept:
                    break  # all actions lose, and those left delay the loss the longest
                actions = kept
        except BudgetUsed:
            pass
        return actions[0][0]

    def _wins(self, position: QuartoPosition, depth: int) -> bool:
        """Return whether the side to move is proven to win within `depth` more moves. Raises BudgetUsed."""
        if TRAITS[position[2]] & wanted(position[0]):
            return True
        if depth <= 0:
            return False
        key = (position, depth)
        if key not in self._proved:
            self._proved[key] = any(self._loses(after, depth - 1) for _, after in self._counted(position))
        return self._proved[key]

    def _loses(self, position: QuartoPosition, depth: int) -> bool:
        """Return whether the side to move is proven to lose within `depth` more moves. Raises BudgetUsed."""
        if TRAITS[position[2]] & wanted(position[0]) or not position[3]:
            return False
        key = (position, -depth - 1)
        if key not in self._proved:
            replies = self._counted(position)
            # At depth 0, a position is lost if there is no safe piece to hand over.
            self._proved[key] = (
                all(self._wins(after, depth - 1) for _, after in replies) if depth else next(replies, None) is None
            )
        return self._proved[key]

    def _counted(self, position: QuartoPosition) -> Iterator[tuple[int, QuartoPosition]]:
        """Yield what `_actions` does, and count one position of the budget for each action. Raises BudgetUsed."""
        for item in self._actions(position):
            self._left -= 1
            if self._left < 0:
                raise BudgetUsed
            yield item

    @staticmethod
    def _actions(position: QuartoPosition) -> Iterator[tuple[int, QuartoPosition]]:
        """Yield the actions that do not hand over a piece that wins at once, with the positions that they lead to."""
        lines, free, hand, reserve = position
        for cell in free:
            after = placed(lines, cell, hand)
            traits = wanted(after)
            left = tuple(other for other in free if other != cell)
            for piece in reserve:
                if not TRAITS[piece] & traits:
                    rest = tuple(other for other in reserve if other != piece)
                    yield 16 * cell + piece, (after, left, piece, rest)

    @staticmethod
    def _safe_count(position: QuartoPosition) -> int:
        """Return how many pieces the opponent could hand back without losing at once, on the board as it is."""
        traits = wanted(position[0])
        return sum(not TRAITS[piece] & traits for piece in position[3])

    @staticmethod
    def _completes(lines: tuple[int, ...], cell: int, piece: int) -> bool:
        return any(lines[number] < 2 * EMPTY and lines[number] & TRAITS[piece] for number in THROUGH[cell])


class Player:
    """Plays tic-tac-toe, Connect Four and Quarto; it recognises the game by the length of the state."""

    def __init__(self, train_mode: bool = False) -> None:
        pass

    def start(self, state: Iterable[int], valid_actions: Iterable[int]) -> int:
        """Return the first action of a match."""
        return choose([int(number) for number in state])

    def step(self, state: Iterable[int], valid_actions: Iterable[int], prev_reward: float) -> int:
        """Return every later action."""
        return choose([int(number) for number in state])

    def end(self, state: Iterable[int], prev_reward: float) -> None:
        """Called when the match is over."""


def choose(state: list[int]) -> int:
    """Return the action for a state of plain integers, which are ten times faster in Python than those of NumPy."""
    if len(state) == 10:
        return solve_tic_tac_toe(tuple(state[:9]), state[9])[1]
    if len(state) == 43:
        return ConnectFourSearch(state).best_column()
    return QuartoSearch(state).best_action()
