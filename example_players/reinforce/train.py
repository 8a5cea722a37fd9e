"""Learns a policy by REINFORCE (Williams, 1992) and writes `weights.npz`: `python train.py`.

For CartPole-v1, and others with a short row of numbers to see and numbered actions to choose from. A network with one
hidden layer gives the probability of each action; the gradient is written out below. Needs Gymnasium and NumPy; some
ten seconds on one core. The same seed gives the same weights.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import gymnasium
import numpy

BATCHES = 100
EPISODES = 10
"""Of a batch: the weights move once a batch."""
HIDDEN = 32
DISCOUNT = 0.99
LEARNING_RATE = 0.01
TEST_EPISODES = 10

Weights = dict[str, Any]


def new_weights(inputs: int, outputs: int, random: Any) -> Weights:
    """Random weights, scaled so that the sums of each layer stay of the size of its inputs."""
    return {
        "hidden": random.normal(0, inputs**-0.5, (inputs, HIDDEN)),
        "hidden_bias": numpy.zeros(HIDDEN),
        "output": random.normal(0, HIDDEN**-0.5, (HIDDEN, outputs)),
        "output_bias": numpy.zeros(outputs),
    }


def forward(weights: Weights, states: Any) -> tuple[Any, Any]:
    """Values of the hidden layer and probabilities of the actions, one row a state."""
    hidden = numpy.tanh(states @ weights["hidden"] + weights["hidden_bias"])
    scores = hidden @ weights["output"] + weights["output_bias"]
    powers = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
    return hidden, powers / powers.sum(axis=-1, keepdims=True)


def gradient(weights: Weights, states: Any, actions: Any, advantages: Any) -> Weights:
    """Of the mean of advantage * log(probability of the action), by each weight."""
    hidden, probabilities = forward(weights, states)
    at_scores = -probabilities
    at_scores[numpy.arange(len(actions)), actions] += 1
    at_scores *= advantages[:, None] / len(actions)
    at_hidden = at_scores @ weights["output"].T * (1 - hidden**2)
    return {
        "hidden": states.T @ at_hidden,
        "hidden_bias": at_hidden.sum(axis=0),
        "output": hidden.T @ at_scores,
        "output_bias": at_scores.sum(axis=0),
    }


class Adam:
    """Steps uphill, of a size of its own for each weight (Kingma and Ba, 2015)."""

    def __init__(self, weights: Weights) -> None:
        self._mean = {name: numpy.zeros_like(value) for name, value in weights.items()}
        self._square = {name: numpy.zeros_like(value) for name, value in weights.items()}
        self._count = 0

    def climb(self, weights: Weights, slopes: Weights) -> None:
        """Change the weights in place."""
        self._count += 1
        for name, slope in slopes.items():
            self._mean[name] += 0.1 * (slope - self._mean[name])
            self._square[name] += 0.001 * (slope**2 - self._square[name])
            mean = self._mean[name] / (1 - 0.9**self._count)
            square = self._square[name] / (1 - 0.999**self._count)
            weights[name] += LEARNING_RATE * mean / (numpy.sqrt(square) + 1e-8)


def play(environment: Any, weights: Weights, seed: int, random: Any = None) -> tuple[list[Any], list[int], list[float]]:
    """States, actions and rewards of one episode; without `random` the most probable actions are played."""
    states, actions, rewards = [], [], []
    state, is_over = environment.reset(seed=seed)[0], False
    while not is_over:
        probabilities = forward(weights, state)[1]
        # Where a random number falls among the running sums: an action drawn by its probability.
        drawn = probabilities.argmax() if random is None else (probabilities.cumsum() < random.random()).sum()
        action = min(int(drawn), len(probabilities) - 1)
        states.append(state)
        actions.append(action)
        state, reward, terminated, truncated, _ = environment.step(action)
        rewards.append(float(reward))
        is_over = terminated or truncated
    return states, actions, rewards


def returns_of(rewards: list[float]) -> list[float]:
    """The discounted sum of what follows each step, itself included."""
    following, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + DISCOUNT * total
        following.append(total)
    return following[::-1]


def learn(environment: Any, batches: int, seed: int) -> Weights:
    """The weights that did best in a test after each batch."""
    random = numpy.random.default_rng(seed)
    weights = new_weights(environment.observation_space.shape[0], int(environment.action_space.n), random)
    adam, best, best_score = Adam(weights), weights, -numpy.inf
    for batch in range(1, batches + 1):
        episodes = [play(environment, weights, int(random.integers(2**31)), random) for _ in range(EPISODES)]
        states = numpy.array([state for episode in episodes for state in episode[0]])
        actions = numpy.array([action for episode in episodes for action in episode[1]])
        returns = numpy.array([value for episode in episodes for value in returns_of(episode[2])])
        # The mean is the baseline: better than that is encouraged, worse discouraged.
        advantages = (returns - returns.mean()) / (returns.std() + 1e-8)
        adam.climb(weights, gradient(weights, states, actions, advantages))
        if batch % 5 == 0:
            # Learning wavers: what counts is how the most probable actions do, which are what the player plays.
            score = float(numpy.mean([sum(play(environment, weights, test)[2]) for test in range(TEST_EPISODES)]))
            if score >= best_score:
                best, best_score = {name: value.copy() for name, value in weights.items()}, score
            mean = numpy.mean([sum(episode[2]) for episode in episodes])
            print(f"batch {batch}: mean return {mean:.1f}, {score:.1f} without exploration")
    return best


def main() -> None:
    """The command line."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("environment", nargs="?", default="CartPole-v1", help="id of Gymnasium")
    parser.add_argument("--arguments", type=json.loads, default={}, help="JSON: what gymnasium.make gets besides")
    parser.add_argument("--batches", type=int, default=BATCHES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("weights.npz"))
    options = parser.parse_args()
    environment = gymnasium.make(options.environment, **options.arguments)
    numpy.savez(options.output, **learn(environment, options.batches, options.seed))


if __name__ == "__main__":
    main()
