"""Minimax with alpha-beta pruning, to a limited depth, for tic-tac-toe, Connect Four and Quarto.

A search needs the rules, and a player cannot call the arena: so each game has a small simulator here. All values are
seen from the side that is to move; what is good for one side is as bad for the other, hence the minus signs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Protocol

WIN = 1000


class Game(Protocol):
    """A position that can be played on and taken back."""

    depth: int
    """How many moves ahead to look from here."""

    def actions(self) -> list[int]:
        """The legal actions, promising ones first: alpha-beta prunes more then."""

    def play(self, action: int) -> int | None:
        """Play an action. The result for the side that played it when the match is over, else None."""

    def undo(self, action: int) -> None:
        """Take back the last action."""

    def evaluate(self) -> int:
        """A guess at the result for the side to move, well within -WIN..WIN."""


def search(game: Game, depth: int, alpha: int, beta: int) -> int:
    """The value of a position for the side to move, as far as it lies between alpha and beta."""
    best = -2 * WIN
    for action in game.actions():
        best = max(best, value_of(game, action, depth, max(alpha, best), beta))
        if best >= beta:
            break  # the other side will not let us come here
    return best


def value_of(game: Game, action: int, depth: int, alpha: int, beta: int) -> int:
    """The value of an action for the side that plays it."""
    result = game.play(action)
    if result is not None:
        # Win soon, lose late: what happens with more depth left is nearer.
        value = result + depth * (result > 0) - depth * (result < 0)
    elif depth <= 1:
        value = -game.evaluate()
    else:
        value = -search(game, depth - 1, -beta, -alpha)
    game.undo(action)
    return value


class TicTacToe:
    """Nine cells 0/1/-1 row by row; actions are cells."""

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
        """Each line that only one side has marks on counts for it."""
        cells, score = self._cells, 0
        for a, b, c in self.LINES:
            marks = (cells[a], cells[b], cells[c])
            if 1 not in marks or -1 not in marks:
                score += sum(marks)
        return score * self._player


def four_in_a_row() -> list[tuple[int, int, int, int]]:
    """All 69 lines of four cells on the board of Connect Four."""
    lines = []
    for row in range(6):
        for column in range(7):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                if row + 3 * down < 6 and 0 <= column + 3 * right < 7:
                    a, b, c, d = (7 * (row + i * down) + column + i * right for i in range(4))
                    lines.append((a, b, c, d))
    return lines


# The three other cells of every line through a cell. The number of lines is also what a cell is worth.
FOURS = four_in_a_row()
OTHERS = [[[other for other in line if other != cell] for line in FOURS if cell in line] for cell in range(42)]
WORTH = [len(others) for others in OTHERS]


class ConnectFour:
    """6 x 7 cells 0/1/-1 row by row from the top; actions are columns."""

    ORDER = (3, 2, 4, 1, 5, 0, 6)

    def __init__(self, state: Sequence[int]) -> None:
        self._cells, self._player = list(state[:42]), state[42]
        # The lowest free cell of each column; negative when the column is full.
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
        """Cells that lie on many lines are good cells."""
        return self._score * self._player


ROWS = tuple((4 * row, 4 * row + 1, 4 * row + 2, 4 * row + 3) for row in range(4))
COLUMNS = tuple((column, column + 4, column + 8, column + 12) for column in range(4))
QUARTO_LINES = (*ROWS, *COLUMNS, (0, 5, 10, 15), (3, 6, 9, 12))
THROUGH = [[line for line in QUARTO_LINES if cell in line] for cell in range(16)]
TRAITS = [piece | (~piece & 15) << 4 for piece in range(16)]


class Quarto:
    """16 cells, then the piece in hand; an action is 16 * cell + the piece for the opponent.

    A piece is kept as eight bits: the traits it has and, above them, those it lacks. The bits that four pieces have in
    common are what makes a line; an empty cell has no bits, so no line through it wins.
    """

    def __init__(self, state: Sequence[int]) -> None:
        self._cells = [0 if piece < 0 else TRAITS[piece] for piece in state[:16]]
        self._hands = [state[16]]
        self._reserve = [piece for piece in range(16) if piece not in state]
        # Hundreds of actions at first, so only one move; to the end when six cells are left, if pruning allows.
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
        # The last piece is placed at once, for the opponent.
        return -WIN if self.evaluate() else 0

    def undo(self, action: int) -> None:
        cell, piece = divmod(action, 16)
        self._cells[cell] = 0
        self._hands.pop()
        self._reserve.append(piece)

    def evaluate(self) -> int:
        """Whether the piece in hand completes a line somewhere."""
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


# The length of the state tells the games apart.
GAMES: dict[int, Callable[[list[int]], Game]] = {10: TicTacToe, 43: ConnectFour, 17: Quarto}


class Player:
    """Plays the action with the best minimax value.

    seed: makes the choice among equal actions repeatable; the arena gives none.
    """

    def __init__(self, train_mode: bool = False, seed: int | None = None) -> None:
        self._random = Random(seed)

    def start(self, state: Iterable[int], valid_actions: Iterable[int]) -> int:
        """The first move of a match."""
        return self._choose(state)

    def step(self, state: Iterable[int], valid_actions: Iterable[int], prev_reward: float) -> int:
        """Every later move."""
        return self._choose(state)

    def end(self, state: Iterable[int], prev_reward: float) -> None:
        """The match is over."""

    def _choose(self, state: Iterable[int]) -> int:
        # Plain integers: Python reckons with NumPy's ten times slower, one at a time.
        numbers = [int(number) for number in state]
        game = GAMES[len(numbers)](numbers)
        actions = game.actions()
        # Of equal actions the first is taken, so a random order makes matches differ.
        self._random.shuffle(actions)
        chosen, best = actions[0], -2 * WIN
        for action in actions:
            value = value_of(game, action, game.depth, best, 2 * WIN)
            if value > best:
                chosen, best = action, value
        return chosen
