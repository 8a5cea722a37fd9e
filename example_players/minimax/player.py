"""Looks a few moves ahead: minimax with alpha-beta pruning. The game is told by the size of the state."""

from games import ConnectFour, TicTacToe, quarto_move


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
        cells, last = state[:-1], state[-1]
        if len(state) == 17:
            return quarto_move(cells, last)
        game = TicTacToe(cells, last) if len(state) == 10 else ConnectFour(cells, last)
        best, best_value = None, -2.0
        for move in game.moves():
            value = value_of(game, move, game.depth, -1.0, -best_value)
            if value > best_value:
                best, best_value = move, value
        return best


def value_of(game, move, depth, alpha, beta):
    """Worth of a move for the player who makes it, between -1 (lost) and 1 (won)."""
    after, won = game.play(move)
    if won:
        return 1.0
    if after.is_full():
        return 0.0
    if depth == 0:
        return -after.worth()
    best = -2.0
    for reply in after.moves():
        best = max(best, value_of(after, reply, depth - 1, -beta, -max(alpha, best)))
        if best >= beta:
            break
    # A little less for a later win, so that it takes the quickest way and puts off a loss.
    return -best * 0.99
