"""Nim in the format of the older arena: one heap of ten stones, take one to three, the last one wins."""

import numpy as np
from environments.base_environment import BaseEnvironment

STONES = 10


class Environment(BaseEnvironment):
    def __init__(self):
        self.state = np.zeros((1,), dtype=int)

    def reset(self):
        self.state[0] = STONES
        return self.state, self._valid()

    def step(self, action):
        self.state[0] -= action + 1
        done = self.state[0] == 0
        print("stones", self.state)
        return self.state, int(done), done, [] if done else self._valid()

    def _valid(self):
        return np.arange(min(3, self.state[0]))

    def to_jsonable(self):
        return self.state.tolist()

    @staticmethod
    def html_head():
        return '<link rel="stylesheet" href="/static/environment-classic-nim/style.css">'

    @staticmethod
    def jsonable_to_html(jsonable):
        return '<ul class="heap">' + '<li class="stone"></li>' * jsonable[0] + "</ul>"
