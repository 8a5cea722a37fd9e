"""Minimax with alpha-beta pruning, to a limited depth, for tic-tac-toe, Connect Four and Quarto.

A search needs the rules, and a player cannot call the arena, so each game has a small simulator here. Values are those
for the side to move. A value for one side is the negative of the value for the other, hence the minus signs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Protocol

WIN = 1000


class Game(Protocol):
    """A position in which actions can be played and taken back."""

    depth: int
    """The number of moves to look ahead from here."""

    def actions(self) -> list[int]:
        """Return the legal actions, with promising ones first, so that alpha-beta prunes more."""

    def play(self, action: int) -> int | None:
        """Play an action; return the result for the side that played it if the match is over, otherwise None."""

    def undo(self, action: int) -> None:
        """Take back the last action."""

    def evaluate(self) -> int:
        """Return an estimate of the result for the side to move, between -WIN and WIN."""


def search(game: Game, depth: int, alpha: int, beta: int) -> int:
    """Return the value of a position for the side to move; it is exact if it lies between alpha and beta."""
    best = -2 * WIN
    for action in game.actions():
        best = max(best, value_of(game, action, depth, max(alpha, best), beta))
        if best >= beta:
            break  # the opponent has a better move earlier and avoids this position
    return best


def value_of(game: Game, action: int, depth: int, alpha: int, beta: int) -> int:
    """Return the value of an action for the side that plays it."""
    result = game.play(action)
    if result is not None:
        # An early win is better and an early loss worse; more depth is left early.
        value = result + depth * (result > 0) - depth * (result < 0)
    elif depth <= 1:
        value = -game.evaluate()
    else:
        value = -search(game, depth - 1, -beta, -alpha)
    game.undo(action)
    return value


class TicTacToe:
    """Nine cells (0, 1 or -1) row by row; actions are cells."""

    LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
    ORDER = (4, 0, 2, 6, 8, 1, 3, 5, 7)

    def __init__(self, state: Sequence[int]) -> None:
        self._cells, self._player = list(state[:9]), state[9]
        self.depth = 4 if self._cells.count(0) > 7 else 6

    def actions(self) -> list[int]:
        return [cell for cell in self.ORDER if not self._cells[cell]]

    def play(self, action: int) -> int | None:
        cells, player = self._cells, self._player
        cells[action] = player
        self._player = -player
        for a, b, c in self.LINES:
            if cells[a] == cells[b] == cells[c] == player:
                return WIN
        return None if 0 in cells else 0

    def undo(self, action: int) -> None:
        self._cells[action] = 0
        self._player = -self._player

    def evaluate(self) -> int:
        """Count the marks on lines that only one side has marks on."""
        cells, score = self._cells, 0
        for a, b, c in self.LINES:
            marks = (cells[a], cells[b], cells[c])
            if 1 not in marks or -1 not in marks:
                score += sum(marks)
        return score * self._player


def four_in_a_row() -> list[tuple[int, int, int, int]]:
    """Return all 69 lines of four cells on the board of Connect Four."""
    lines = []
    for row in range(6):
        for column in range(7):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                if row + 3 * down < 6 and 0 <= column + 3 * right < 7:
                    a, b, c, d = (7 * (row + i * down) + column + i * right for i in range(4))
                    lines.append((a, b, c, d))
    return lines


# OTHERS holds the three other cells of every line through each cell. The number of these lines is the worth of a cell.
FOURS = four_in_a_row()
OTHERS = [[[other for other in line if other != cell] for line in FOURS if cell in line] for cell in range(42)]
WORTH = [len(others) for others in OTHERS]


class ConnectFour:
    """6 x 7 cells (0, 1 or -1) row by row from the top; actions are columns."""

    ORDER = (3, 2, 4, 1, 5, 0, 6)

    def __init__(self, state: Sequence[int]) -> None:
        self._cells, self._player = list(state[:42]), state[42]
        # The lowest free cell of each column, or a negative number if the column is full.
        self._free = [35 + column - 7 * sum(map(bool, self._cells[column::7])) for column in range(7)]
        self._left = self._cells.count(0)
        self._score = sum(worth * cell for worth, cell in zip(WORTH, self._cells, strict=True))
        self.depth = 3

    def actions(self) -> list[int]:
        return [column for column in self.ORDER if self._free[column] >= 0]

    def play(self, action: int) -> int | None:
        cells, player, cell = self._cells, self._player, self._free[action]
        cells[cell] = player
        self._free[action] = cell - 7
        self._left -= 1
        self._score += player * WORTH[cell]
        self._player = -player
        for a, b, c in OTHERS[cell]:
            if cells[a] == player and cells[b] == player and cells[c] == player:
                return WIN
        return None if self._left else 0

    def undo(self, action: int) -> None:
        cell = self._free[action] + 7
        self._player = -self._player
        self._score -= self._player * WORTH[cell]
        self._left += 1
        self._free[action] = cell
        self._cells[cell] = 0

    def evaluate(self) -> int:
        """Compare the worth of both sides' cells."""
        return self._score * self._player


ROWS = tuple((4 * row, 4 * row + 1, 4 * row + 2, 4 * row + 3) for row in range(4))
COLUMNS = tuple((column, column + 4, column + 8, column + 12) for column in range(4))
QUARTO_LINES = (*ROWS, *COLUMNS, (0, 5, 10, 15), (3, 6, 9, 12))
THROUGH = [[line for line in QUARTO_LINES if cell in line] for cell in range(16)]
TRAITS = [piece | (~piece & 15) << 4 for piece in range(16)]


class Quarto:
    """16 cells and the piece in hand; an action is 16 * cell + the piece for the opponent.

    A piece is stored as eight bits: the four traits that it has and, above them, those that it lacks. Four pieces with
    a common bit make a winning line. An empty cell has no bits, so no line through it wins.
    """

    def __init__(self, state: Sequence[int]) -> None:
        self._cells = [0 if piece < 0 else TRAITS[piece] for piece in state[:16]]
        self._hands = [state[16]]
        self._reserve = [piece for piece in range(16) if piece not in state]
        # At first there are hundreds of actions, so it looks only one move ahead, and further when few cells are left.
        self.depth = {6: 2, 5: 3}.get(self._cells.count(0), 1 if self._cells.count(0) > 6 else 4)

    def actions(self) -> list[int]:
        return [16 * cell + piece for cell in range(16) if not self._cells[cell] for piece in self._reserve]

    def play(self, action: int) -> int | None:
        cell, piece = divmod(action, 16)
        self._cells[cell] = TRAITS[self._hands[-1]]
        self._hands.append(piece)
        self._reserve.remove(piece)
        if self._is_line(cell):
            return WIN
        if self._reserve:
            return None
        # The opponent's last piece is placed at once.
        return -WIN if self.evaluate() else 0

    def undo(self, action: int) -> None:
        cell, piece = divmod(action, 16)
        self._cells[cell] = 0
        self._hands.pop()
        self._reserve.append(piece)

    def evaluate(self) -> int:
        """Return a win if the piece in hand can complete a line, otherwise 0."""
        cells, traits = self._cells, TRAITS[self._hands[-1]]
        if cells.count(0) > 13:
            return 0
        for cell in range(16):
            if not cells[cell]:
                cells[cell] = traits
                wins = self._is_line(cell)
                cells[cell] = 0
                if wins:
                    return WIN - 1
        return 0

    def _is_line(self, cell: int) -> bool:
        cells = self._cells
        return any(cells[a] & cells[b] & cells[c] & cells[d] for a, b, c, d in THROUGH[cell])


# The games by the length of their states.
GAMES: dict[int, Callable[[list[int]], Game]] = {10: TicTacToe, 43: ConnectFour, 17: Quarto}


class Player:
    """Plays the action with the best minimax value.

    seed: makes the choice among equally good actions repeatable; the arena does not set it.
    """

    def __init__(self, train_mode: bool = False, seed: int | None = None) -> None:
        self._random = Random(seed)

    def start(self, state: Iterable[int], valid_actions: Iterable[int]) -> int:
        """Return the first action of a match."""
        return self._choose(state)

    def step(self, state: Iterable[int], valid_actions: Iterable[int], prev_reward: float) -> int:
        """Return every later action."""
        return self._choose(state)

    def end(self, state: Iterable[int], prev_reward: float) -> None:
        """Called when the match is over."""

    def _choose(self, state: Iterable[int]) -> int:
        # Python computes ten times faster with plain integers than with single numbers of NumPy.
        numbers = [int(number) for number in state]
        game = GAMES[len(numbers)](numbers)
        actions = game.actions()
        # The first of equally good actions is chosen, so a random order makes matches differ.
        self._random.shuffle(actions)
        chosen, best = actions[0], -2 * WIN
        for action in actions:
            value = value_of(game, action, game.depth, best, 2 * WIN)
            if value > best:
                chosen, best = action, value
        return chosen
