"""Learns a table of values by SARSA (Rummery and Niranjan, 1994) and writes `q_table.npy`: `python train.py`.

For environments whose observations and actions are numbers: CliffWalking, FrozenLake-v1 and Taxi. In CliffWalking it
learns to keep a distance from the cliff, because it takes its own exploration into account (Sutton and Barto, 2018,
example 6.6). It needs Gymnasium and NumPy, and takes a few seconds on one core. The same seed gives the same table.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from random import Random
from typing import Any

import gymnasium
import numpy

STEPS = 200_000
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

    def choose(state: int, step: int) -> int:
        # Exploration falls in the first half and then stays.
        if random.random() < max(LAST_EXPLORATION, 1 - 2 * step / steps):
            return random.randrange(action_count)
        return values[state].index(max(values[state]))

    episode_return, recent = 0.0, [0.0]
    state = int(environment.reset(seed=seed)[0])
    action = choose(state, 0)
    for step in range(1, steps + 1):
        observation, reward, terminated, truncated, _ = environment.step(action)
        after = int(observation)
        # This is the difference to Q-learning: the next state counts with the action that really comes next, even if
        # exploration chose it.
        next_action = choose(after, step)
        future = 0.0 if terminated else DISCOUNT * values[after][next_action]
        visits[state][action] += 1
        change = float(reward) + future - values[state][action]
        values[state][action] += change / visits[state][action] ** LEARNING_POWER
        state, action = after, next_action
        episode_return += float(reward)
        if terminated or truncated:
            recent = [*recent[-99:], episode_return]
            state, episode_return = int(environment.reset()[0]), 0.0
            action = choose(state, step)
        if step % (steps // 10) == 0:
            print(f"step {step}: mean return {sum(recent) / len(recent):.2f} with exploration")
    return numpy.array(values)


def main() -> None:
    """Run the command line."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("environment", nargs="?", default="CliffWalking-v1", help="id of Gymnasium")
    parser.add_argument("--arguments", type=json.loads, default={}, help="""JSON, e.g. '{"is_slippery": false}'""")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of the environment")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("q_table.npy"))
    options = parser.parse_args()
    environment = gymnasium.make(options.environment, **options.arguments)
    numpy.save(options.output, learn(environment, options.steps, options.seed))


if __name__ == "__main__":
    main()
