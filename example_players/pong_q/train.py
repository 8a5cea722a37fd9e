"""Learns to return balls in Pong by Q-learning (Watkins, 1989) and writes `q_table.npy`: `python train.py`.

A decision is made once per approach of the ball: with which part of the paddle to return it. What follows until the
ball comes back, or until a point, is one step of the learning. The opponent is the example player `pong_follow`. It
needs arena-kit and NumPy, and takes 8 seconds on one core. The same seed gives the same table.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from random import Random
from typing import Any

import numpy
from aiming import (  # type: ignore[import-not-found]  # beside this file
    MIDDLE,
    OFFSETS,
    SHAPE,
    arrival,
    place_for,
    situation,
    towards,
)

from arena_kit.environment.registry import get_spec
from arena_kit.opponents import opponent_maker

OPPONENT = "pong_follow"
DECISIONS = 8_000
DISCOUNT = 0.9
"""A point now is worth more than one after the next return, because a match ends after 1,000 steps."""
LAST_EXPLORATION = 0.1
LEARNING_POWER = 0.6
"""The learning rate of the n-th visit to a row and an offset is n**-0.6."""


class Learner:
    """The table, and the decision whose end is not known yet."""

    def __init__(self, decisions: int, seed: int) -> None:
        self.values, self.visits = numpy.zeros(SHAPE), numpy.zeros(SHAPE)
        self.decisions, self.made = decisions, 0
        self._random = Random(seed)
        self._open: tuple[int, int] | None = None

    def decide(self, row: int) -> int:
        """Return the offset to try, by its number; the decision before has led to this row."""
        self.learn(DISCOUNT * float(self.values[row].max()))
        exploration = max(LAST_EXPLORATION, 1 - 2 * self.made / self.decisions)
        explores = self._random.random() < exploration
        chosen = self._random.randrange(len(OFFSETS)) if explores else int(self.values[row].argmax())
        self._open = row, chosen
        self.made += 1
        return chosen

    def learn(self, worth: float) -> None:
        """Tell what the open decision has led to, if there is one."""
        if self._open is not None:
            self.visits[self._open] += 1
            self.values[self._open] += (worth - self.values[self._open]) / self.visits[self._open] ** LEARNING_POWER
        self._open = None


def learn(decisions: int, seed: int) -> Any:
    """Return the values, of shape (situations, offsets)."""
    spec = get_spec("pong")
    environment, opponent = spec.make(), opponent_maker(spec, OPPONENT)(seed)
    learner = Learner(decisions, seed)
    match, won = 0, 0.0
    while learner.made < decisions:
        environment.reset(1000 * seed + match)
        points = play(environment, opponent, learner)
        won += 1.0 if points > 0 else 0.5 if points == 0 else 0.0
        match += 1
        if match % 100 == 0:
            print(f"decision {learner.made}: {won:g} of the last 100 matches won, while exploring")
            won = 0.0
    return learner.values


def play(environment: Any, opponent: Any, learner: Learner) -> float:
    """Play a match from the first seat; return the points ahead of the opponent."""
    place, last_x, points = MIDDLE, 0.0, 0.0
    while environment.to_move:
        x, y, speed_x, speed_y, paddle, *_ = environment.observe(0).observation
        if speed_x > 0:
            place, last_x = MIDDLE, 0.0
        elif x > last_x:
            # The ball begins to come nearer.
            height, speed = arrival(y, speed_y, round(x / -speed_x))
            row, sign = situation(height, speed)
            place = place_for(height, sign * OFFSETS[learner.decide(row)])
            last_x = x
        answer = opponent.step(environment.observe(1).observation, (), 0.0)
        reward, _ = environment.step({0: towards(place, paddle), 1: answer})
        if reward:
            learner.learn(reward)
            points += reward
            last_x = 0.0
    return points


def main() -> None:
    """Run the command line."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("environment", nargs="?", default="pong", choices=["pong"])
    parser.add_argument("--arguments", type=json.loads, default={}, help="not used")
    parser.add_argument("--decisions", type=int, default=DECISIONS, help="balls to return")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("q_table.npy"))
    options = parser.parse_args()
    numpy.save(options.output, learn(options.decisions, options.seed))


if __name__ == "__main__":
    main()
