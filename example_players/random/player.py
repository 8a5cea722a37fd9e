"""Takes any valid action."""

import random


class Player:
    def __init__(self, train_mode):
        self.random = random.Random()

    def start(self, state, valid_actions):
        return self.random.choice(valid_actions)

    def step(self, state, valid_actions, prev_reward):
        return self.random.choice(valid_actions)

    def end(self, state, prev_reward):
        pass
