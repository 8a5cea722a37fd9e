"""Learns a policy by REINFORCE (Williams, 1992) and writes `weights.npz`: `python train.py`.

For CartPole-v1 and other environments with short observations and numbered actions. A network with one hidden layer
gives the probability of each action. The gradient is written out below. It needs Gymnasium and NumPy, and takes about
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
"""Episodes per batch; the weights change once per batch."""
HIDDEN = 32
DISCOUNT = 0.99
LEARNING_RATE = 0.01
TEST_EPISODES = 10

Weights = dict[str, Any]


def new_weights(inputs: int, outputs: int, random: Any) -> Weights:
    """Return random weights, scaled so that the sums in each layer have the size of its inputs."""
    return {
        "hidden": random.normal(0, inputs**-0.5, (inputs, HIDDEN)),
        "hidden_bias": numpy.zeros(HIDDEN),
        "output": random.normal(0, HIDDEN**-0.5, (HIDDEN, outputs)),
        "output_bias": numpy.zeros(outputs),
    }


def forward(weights: Weights, states: Any) -> tuple[Any, Any]:
    """Return the hidden layer and the probabilities of the actions, with one row per state."""
    hidden = numpy.tanh(states @ weights["hidden"] + weights["hidden_bias"])
    scores = hidden @ weights["output"] + weights["output_bias"]
    powers = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
    return hidden, powers / powers.sum(axis=-1, keepdims=True)


def gradient(weights: Weights, states: Any, actions: Any, advantages: Any) -> Weights:
    """Return the gradient, by each weight, of the mean of advantage * log(probability of the action)."""
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
    """Gradient ascent with an adaptive step size for each weight (Kingma and Ba, 2015)."""

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
    """Play one episode; return its states, actions and rewards. Without `random`, play the most probable actions."""
    states, actions, rewards = [], [], []
    state, is_over = environment.reset(seed=seed)[0], False
    while not is_over:
        probabilities = forward(weights, state)[1]
        # The place of a random number among the running sums draws each action with its probability.
        drawn = probabilities.argmax() if random is None else (probabilities.cumsum() < random.random()).sum()
        action = min(int(drawn), len(probabilities) - 1)
        states.append(state)
        actions.append(action)
        state, reward, terminated, truncated, _ = environment.step(action)
        rewards.append(float(reward))
        is_over = terminated or truncated
    return states, actions, rewards


def returns_of(rewards: list[float]) -> list[float]:
    """Return, for each step, the discounted sum of its reward and all later ones."""
    following, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + DISCOUNT * total
        following.append(total)
    return following[::-1]


def learn(environment: Any, batches: int, seed: int) -> Weights:
    """Train a network; return the weights that did best in a test."""
    random = numpy.random.default_rng(seed)
    weights = new_weights(environment.observation_space.shape[0], int(environment.action_space.n), random)
    adam, best, best_score = Adam(weights), weights, -numpy.inf
    for batch in range(1, batches + 1):
        episodes = [play(environment, weights, int(random.integers(2**31)), random) for _ in range(EPISODES)]
        states = numpy.array([state for episode in episodes for state in episode[0]])
        actions = numpy.array([action for episode in episodes for action in episode[1]])
        returns = numpy.array([value for episode in episodes for value in returns_of(episode[2])])
        # The mean is the baseline: actions with a higher return become more probable, others less.
        advantages = (returns - returns.mean()) / (returns.std() + 1e-8)
        adam.climb(weights, gradient(weights, states, actions, advantages))
        if batch % 5 == 0:
            # Results go up and down during training, so the best weights are kept. The test plays the most probable
            # actions, as the player does.
            score = float(numpy.mean([sum(play(environment, weights, test)[2]) for test in range(TEST_EPISODES)]))
            if score >= best_score:
                best, best_score = {name: value.copy() for name, value in weights.items()}, score
            mean = numpy.mean([sum(episode[2]) for episode in episodes])
            print(f"batch {batch}: mean return {mean:.1f}, {score:.1f} without exploration")
    return best


def main() -> None:
    """Run the command line."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("environment", nargs="?", default="CartPole-v1", help="id of Gymnasium")
    parser.add_argument("--arguments", type=json.loads, default={}, help="JSON with arguments for gymnasium.make")
    parser.add_argument("--batches", type=int, default=BATCHES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("weights.npz"))
    options = parser.parse_args()
    environment = gymnasium.make(options.environment, **options.arguments)
    numpy.savez(options.output, **learn(environment, options.batches, options.seed))


if __name__ == "__main__":
    main()
