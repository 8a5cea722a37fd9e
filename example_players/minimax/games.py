"""Simulators of the three games, just enough to look ahead.

Each game knows: `moves()`, `play(move)` -> (new game, whether the mover has won), `is_full()`, and `worth()`, a guess
for the player to move between -1 and 1.
"""

TIC_TAC_TOE_LINES = [
    (0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6),
]  # fmt: skip


class TicTacToe:
    depth = 4

    def __init__(self, cells, player):
        self.cells, self.player = cells, player

    def moves(self):
        return [cell for cell in range(9) if self.cells[cell] == 0]

    def play(self, cell):
        cells = list(self.cells)
        cells[cell] = self.player
        won = any(all(cells[other] == self.player for other in line) for line in TIC_TAC_TOE_LINES if cell in line)
        return TicTacToe(cells, -self.player), won

    def is_full(self):
        return 0 not in self.cells

    def worth(self):
        return 0.0


class ConnectFour:
    depth = 2

    def __init__(self, cells, player):
        self.cells, self.player = cells, player

    def moves(self):
        # The middle first: it is in more lines, so the search cuts earlier.
        return [column for column in (3, 2, 4, 1, 5, 0, 6) if self.cells[column] == 0]

    def play(self, column):
        cells = list(self.cells)
        row = max(row for row in range(6) if cells[row * 7 + column] == 0)
        cells[row * 7 + column] = self.player
        return ConnectFour(cells, -self.player), wins_connect_four(cells, row, column)

    def is_full(self):
        return 0 not in self.cells[:7]

    def worth(self):
        middle = sum(self.cells[row * 7 + 3] for row in range(6))
        return 0.05 * middle * self.player


def wins_connect_four(cells, row, column):
    mark = cells[row * 7 + column]
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        count = 1
        for sign in (1, -1):
            r, c = row + sign * down, column + sign * right
            while 0 <= r < 6 and 0 <= c < 7 and cells[r * 7 + c] == mark:
                count += 1
                r, c = r + sign * down, c + sign * right
        if count >= 4:
            return True
    return False


QUARTO_LINES = [
    *([4 * row + column for column in range(4)] for row in range(4)),
    *([4 * row + column for row in range(4)] for column in range(4)),
    [0, 5, 10, 15],
    [3, 6, 9, 12],
]


def wins_quarto(cells, cell):
    """Whether the piece on `cell` completes a line that shares a trait."""
    for line in QUARTO_LINES:
        if cell in line:
            a, b, c, d = (cells[other] for other in line)
            if min(a, b, c, d) >= 0 and (a & b & c & d or ~(a | b | c | d) & 15):
                return True
    return False


def quarto_move(cells, hand):
    """Win if possible; else hand over a piece with which the opponent cannot win at once, if there is one."""
    free = [cell for cell in range(16) if cells[cell] < 0]
    left = [piece for piece in range(16) if piece != hand and piece not in cells]
    for cell in free:
        cells[cell] = hand
        won = wins_quarto(cells, cell)
        cells[cell] = -1
        if won:
            return 16 * cell + left[0]
    for cell in free:
        cells[cell] = hand
        rest = [other for other in free if other != cell]
        safe = next((piece for piece in left if not can_win_quarto(cells, rest, piece)), None)
        cells[cell] = -1
        if safe is not None:
            return 16 * cell + safe
    return 16 * free[0] + left[0]


def can_win_quarto(cells, free, piece):
    for cell in free:
        cells[cell] = piece
        won = wins_quarto(cells, cell)
        cells[cell] = -1
        if won:
            return True
    return False
