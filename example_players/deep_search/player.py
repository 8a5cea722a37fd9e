"""Searches deeper: bitboards and iterative deepening in Connect Four, exact tic-tac-toe, endgames of Quarto.

The budget is a number of positions, not a time, so that the player is deterministic and as quick on every machine.
"""

from functools import lru_cache

CONNECT_FOUR_POSITIONS = 900
QUARTO_POSITIONS = 600
WIN = 1000


class Player:
    def __init__(self, train_mode):
        pass

    def start(self, state, valid_actions):
        return self.choose(state.tolist())

    def step(self, state, valid_actions, prev_reward):
        return self.choose(state.tolist())

    def end(self, state, prev_reward):
        pass

    def choose(self, state):
        if len(state) == 10:
            return solve_tic_tac_toe(tuple(state[:-1]), state[-1])[1]
        if len(state) == 43:
            return ConnectFourSearch(state[:-1], state[-1]).best_column()
        return QuartoSearch(state[:-1]).best_action(state[-1])


# --- Tic-tac-toe: solved ----------------------------------------------------------------------------------

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@lru_cache(maxsize=None)
def solve_tic_tac_toe(cells, player):
    """(value for the player to move, best cell); a draw is worth more when the opponent has more ways to lose."""
    best, best_cell = -2.0, None
    total = 0.0
    free = [cell for cell in range(9) if cells[cell] == 0]
    for cell in free:
        after = (*cells[:cell], player, *cells[cell + 1 :])
        if any(all(after[other] == player for other in line) for line in LINES if cell in line):
            value = 1.0
        elif len(free) == 1:
            value = 0.0
        else:
            value = -solve_tic_tac_toe(after, -player)[0]
        total += value
        if value > best:
            best, best_cell = value, cell
    # Between moves that are equal under perfect play, prefer positions in which most replies lose.
    return (best if abs(best) > 0.5 else best * 0.5 + 0.01 * total / len(free)), best_cell


# --- Connect Four: columns of seven bits, the top one always empty -----------------------------------------

BOTTOM = sum(1 << (7 * column) for column in range(7))
BOARD = BOTTOM * 0b111111
ORDER = (3, 2, 4, 1, 5, 0, 6)
CENTRE = 0b111111 << 21
NEAR_CENTRE = (0b111111 << 14) | (0b111111 << 28)


def connected(stones):
    """Whether four of these stones are in a row."""
    for shift in (1, 6, 7, 8):
        pairs = stones & (stones >> shift)
        if pairs & (pairs >> (2 * shift)):
            return True
    return False


def winning_cells(stones, taken):
    """Empty cells that would complete a four for these stones, reachable now or not."""
    cells = (stones << 1) & (stones << 2) & (stones << 3)
    for shift in (6, 7, 8):
        two = (stones << shift) & (stones << (2 * shift))
        cells |= two & (stones << (3 * shift))
        cells |= two & (stones >> shift)
        two = (stones >> shift) & (stones >> (2 * shift))
        cells |= two & (stones >> (3 * shift))
        cells |= two & (stones << shift)
    return cells & BOARD & ~taken


class BudgetUsed(Exception):
    pass


class ConnectFourSearch:
    def __init__(self, cells, player):
        self.mine = self.theirs = 0
        for index, mark in enumerate(cells):
            row, column = divmod(index, 7)
            bit = 1 << (7 * column + 5 - row)
            if mark == player:
                self.mine |= bit
            elif mark:
                self.theirs |= bit
        self.left = CONNECT_FOUR_POSITIONS
        self.table = {}

    def best_column(self):
        """The best column of the deepest search that the budget allows."""
        taken = self.mine | self.theirs
        columns = [column for column in ORDER if (taken + (1 << (7 * column))) & (0b1111111 << (7 * column)) & BOARD]
        best = columns[0]
        empty = 42 - taken.bit_count()
        try:
            for depth in range(1, empty + 1):
                best = self.search_root(columns, depth)
                columns = [best, *(column for column in columns if column != best)]
        except BudgetUsed:
            pass
        return best

    def search_root(self, columns, depth):
        taken = self.mine | self.theirs
        best, best_value = columns[0], -2 * WIN
        for column in columns:
            bit = (taken + (1 << (7 * column))) & (0b1111111 << (7 * column))
            mine = self.mine | bit
            value = (
                WIN + depth if connected(mine) else -self.search(self.theirs, mine, depth - 1, -2 * WIN, -best_value)
            )
            if value > best_value:
                best, best_value = column, value
        return best

    def search(self, mine, theirs, depth, alpha, beta):
        """Value for the owner of `mine`, who is to move."""
        self.left -= 1
        if self.left < 0:
            raise BudgetUsed
        taken = mine | theirs
        reachable = (taken + BOTTOM) & BOARD
        if not reachable:
            return 0
        if winning_cells(mine, taken) & reachable:
            return WIN + depth
        threats = winning_cells(theirs, taken) & reachable
        if threats & (threats - 1):
            return -WIN - depth
        if depth <= 0:
            return self.worth(mine, theirs, taken)
        key = (mine, theirs, depth)
        if key in self.table:
            return self.table[key]
        best = -2 * WIN
        for column in ORDER:
            bit = reachable & (0b111111 << (7 * column))
            if threats:
                bit &= threats
            if not bit:
                continue
            value = -self.search(theirs, mine | bit, depth - 1, -beta, -max(alpha, best))
            if value > best:
                best = value
                if best >= beta:
                    return best
        self.table[key] = best
        return best

    @staticmethod
    def worth(mine, theirs, taken):
        """A guess: cells that would win, and the middle."""
        lines = winning_cells(mine, taken).bit_count() - winning_cells(theirs, taken).bit_count()
        middle = (mine & CENTRE).bit_count() - (theirs & CENTRE).bit_count()
        near = (mine & NEAR_CENTRE).bit_count() - (theirs & NEAR_CENTRE).bit_count()
        return 12 * lines + 3 * middle + near


# --- Quarto ------------------------------------------------------------------------------------------------

QUARTO_LINES = [
    *(tuple(range(4 * row, 4 * row + 4)) for row in range(4)),
    *(tuple(range(column, 16, 4)) for column in range(4)),
    (0, 5, 10, 15),
    (3, 6, 9, 12),
]
THROUGH = [[[other for other in line if other != cell] for line in QUARTO_LINES if cell in line] for cell in range(16)]


class QuartoSearch:
    def __init__(self, cells):
        self.cells = cells
        self.free = [cell for cell in range(16) if cells[cell] < 0]
        self.budget = QUARTO_POSITIONS

    def wins(self, cell, piece):
        """Whether `piece` on `cell` completes a line."""
        cells = self.cells
        for a, b, c in THROUGH[cell]:
            x, y, z = cells[a], cells[b], cells[c]
            if x >= 0 and y >= 0 and z >= 0 and (piece & x & y & z or ~(piece | x | y | z) & 15):
                return True
        return False

    def winning_cell(self, piece):
        return next((cell for cell in self.free if self.wins(cell, piece)), None)

    def best_action(self, hand):
        left = [piece for piece in range(16) if piece != hand and piece not in self.cells]
        cell = self.winning_cell(hand)
        if cell is not None:
            return 16 * cell + left[0]
        depth = 2 if len(self.free) <= 7 else 0
        best, best_value = (self.free[0], left[0]), -3.0
        for cell in list(self.free):
            self.put(cell, hand)
            for piece in left:
                value = self.handed(piece, [other for other in left if other != piece], depth)
                if value > best_value:
                    best, best_value = (cell, piece), value
                if value >= 1:
                    break
            self.take(cell)
            if best_value >= 1 or (best_value > 0 and depth == 0):
                break
        return 16 * best[0] + best[1]

    def handed(self, piece, left, depth):
        """Value, for the player who hands it over, of giving `piece` to the opponent."""
        if self.winning_cell(piece) is not None:
            return -1.0
        if not left:
            return 0.0
        if depth == 0 or self.budget <= 0:
            # The fewer pieces are safe for the opponent to hand back, the better.
            safe = sum(self.winning_cell(other) is None for other in left)
            return 0.5 / (1 + safe)
        self.budget -= 1
        best = -1.0
        for cell in list(self.free):
            self.put(cell, piece)
            for reply in left:
                best = max(best, self.handed(reply, [other for other in left if other != reply], depth - 1))
                if best >= 0.99:
                    break
            self.take(cell)
            if best >= 0.99:
                break
        return -best

    def put(self, cell, piece):
        self.cells[cell] = piece
        self.free.remove(cell)

    def take(self, cell):
        self.cells[cell] = -1
        self.free.append(cell)
        self.free.sort()
