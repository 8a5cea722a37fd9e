"""The least a player must do: take the first valid action."""


class Player:
    def __init__(self, train_mode):
        pass

    def start(self, state, valid_actions):
        return valid_actions[0]

    def step(self, state, valid_actions, prev_reward):
        return valid_actions[0]

    def end(self, state, prev_reward):
        pass
