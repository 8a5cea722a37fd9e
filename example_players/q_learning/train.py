"""Learns a table of values by Q-learning (Watkins, 1989) and writes `q_table.npy`: `python train.py FrozenLake-v1`.

For environments whose observations and actions are numbers: FrozenLake-v1 (slippery or not), Taxi and CliffWalking. It
needs Gymnasium and NumPy, and takes a few seconds on one core. The same seed gives the same table.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from random import Random
from typing import Any

import gymnasium
import numpy

STEPS = {"Taxi": 300_000}
DEFAULT_STEPS = 200_000
DISCOUNT = 0.99
LAST_EXPLORATION = 0.1
LEARNING_POWER = 0.6
"""The learning rate of the n-th visit to a state and action is n**-0.6, which averages over luck and lets the early,
wrong values fade."""


def learn(environment: Any, steps: int, seed: int) -> Any:
    """Return the values, of shape (states, actions), after `steps` steps of the environment."""
    random = Random(seed)
    action_count = int(environment.action_space.n)
    values = [[0.0] * action_count for _ in range(int(environment.observation_space.n))]
    visits = [[0] * action_count for _ in values]
    step, episode_return, recent = 0, 0.0, [0.0]
    state, is_over = int(environment.reset(seed=seed)[0]), False
    while step < steps:
        if is_over:
            recent = [*recent[-99:], episode_return]
            state, episode_return = int(environment.reset()[0]), 0.0
        # Exploration falls in the first half and then stays. Q-learning learns the best way even while it explores.
        exploration = max(LAST_EXPLORATION, 1 - 2 * step / steps)
        row = values[state]
        explores = random.random() < exploration
        action = random.randrange(action_count) if explores else row.index(max(row))
        after, reward, terminated, truncated, _ = environment.step(action)
        # A truncated episode was only cut off, so the value of its last state still counts.
        future = 0.0 if terminated else DISCOUNT * max(values[int(after)])
        visits[state][action] += 1
        row[action] += (float(reward) + future - row[action]) / visits[state][action] ** LEARNING_POWER
        state, is_over = int(after), terminated or truncated
        episode_return += float(reward)
        step += 1
        if step % (steps // 10) == 0:
            print(f"step {step}: mean return {sum(recent) / len(recent):.2f} with {exploration:.0%} exploration")
    return numpy.array(values)


def main() -> None:
    """Run the command line."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("environment", nargs="?", default="FrozenLake-v1", help="id of Gymnasium")
    parser.add_argument("--arguments", type=json.loads, default={}, help="""JSON, e.g. '{"is_slippery": false}'""")
    parser.add_argument("--steps", type=int, help="steps of the environment")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("q_table.npy"))
    options = parser.parse_args()
    steps = options.steps or STEPS.get(options.environment.partition("-")[0], DEFAULT_STEPS)
    environment = gymnasium.make(options.environment, **options.arguments)
    numpy.save(options.output, learn(environment, steps, options.seed))


if __name__ == "__main__":
    main()
