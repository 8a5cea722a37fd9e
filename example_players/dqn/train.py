"""Trains a small deep Q-network (Mnih et al., 2015) in NumPy and writes `weights.npz`: `python train.py`.

For CartPole-v1 and other environments with short observations and numbered actions. It has two hidden layers, a memory
of past steps, and a second network that follows the first slowly and gives the targets. The gradient is written out
below. It needs Gymnasium and NumPy, and takes 15 seconds on one core. The same seed gives the same weights.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy

STEPS = 50_000
MEMORY = 20_000
"""Number of past steps that are kept to learn from."""
WARM_UP = 1_000
"""Steps before learning begins."""
LEARN_EVERY = 2
"""Steps between two batches."""
BATCH = 64
HIDDEN = 64
DISCOUNT = 0.98
LEARNING_RATE = 0.002
"""The rate at the start; it falls to 0."""
REWARD_SCALE = 1 - DISCOUNT
"""Makes values weighted means of rewards instead of sums, which have a size that a network learns easily."""
EXPLORING_STEPS = 10_000
"""Number of steps in which the share of random actions falls from 1 to LAST_EXPLORATION."""
LAST_EXPLORATION = 0.05
FOLLOWING = 0.01
"""Share of its distance to the learning network that the lagging network moves with each batch."""
TEST_STEPS = 1_000
"""Steps between two tests without exploration."""
TEST_EPISODES = 20


class Network:
    """A network of three layers; `parameters` holds the weights and the bias of each layer in turn."""

    def __init__(self, sizes: list[int], random: Any) -> None:
        self.parameters: list[Any] = []
        for inputs, outputs in pairwise(sizes):
            # The scale for layers with ReLU (He et al., 2015).
            self.parameters += [random.normal(0, (2 / inputs) ** 0.5, (inputs, outputs)), numpy.zeros(outputs)]

    def layers(self, states: Any) -> list[Any]:
        """Return the states, the two hidden layers and the values of the actions, with one row per state."""
        first, first_bias, second, second_bias, third, third_bias = self.parameters
        hidden = numpy.maximum(states @ first + first_bias, 0)
        deeper = numpy.maximum(hidden @ second + second_bias, 0)
        return [states, hidden, deeper, deeper @ third + third_bias]

    def values(self, states: Any) -> Any:
        """Return the value of each action, with one row per state."""
        return self.layers(states)[-1]

    def gradient(self, states: Any, actions: Any, targets: Any) -> list[Any]:
        """Return the gradient, by each parameter, of the mean Huber loss between values of actions and targets."""
        *inputs, values = self.layers(states)
        rows = numpy.arange(len(actions))
        at_output = numpy.zeros_like(values)
        at_output[rows, actions] = numpy.clip(values[rows, actions] - targets, -1, 1) / len(actions)
        slopes: list[Any] = []
        for layer in (2, 1, 0):
            slopes = [inputs[layer].T @ at_output, at_output.sum(axis=0), *slopes]
            # Backwards through the weights and then through ReLU, whose gradient is 0 where its output was 0.
            at_output = at_output @ self.parameters[2 * layer].T * (inputs[layer] > 0)
        return slopes


class Adam:
    """Gradient descent with an adaptive step size for each parameter (Kingma and Ba, 2015)."""

    def __init__(self, parameters: list[Any]) -> None:
        self._means = [numpy.zeros_like(value) for value in parameters]
        self._squares = [numpy.zeros_like(value) for value in parameters]
        self._count = 0

    def descend(self, parameters: list[Any], slopes: list[Any], learning_rate: float) -> None:
        """Change the parameters in place."""
        self._count += 1
        rate = learning_rate * (1 - 0.999**self._count) ** 0.5 / (1 - 0.9**self._count)
        for value, slope, mean, square in zip(parameters, slopes, self._means, self._squares, strict=True):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope * slope - square)
            value -= rate * mean / (numpy.sqrt(square) + 1e-8)


class Memory:
    """The last MEMORY steps: states, actions, rewards, next states, and whether the episode went on."""

    def __init__(self, inputs: int) -> None:
        self._columns = (
            numpy.zeros((MEMORY, inputs)),
            numpy.zeros(MEMORY, dtype=int),
            numpy.zeros(MEMORY),
            numpy.zeros((MEMORY, inputs)),
            numpy.zeros(MEMORY),
        )
        self._count = 0

    def add(self, *step: Any) -> None:
        """Keep a step in place of the oldest one."""
        for column, value in zip(self._columns, step, strict=True):
            column[self._count % MEMORY] = value
        self._count += 1

    def sample(self, random: Any) -> tuple[Any, ...]:
        """Return the columns of BATCH random steps."""
        rows = random.integers(min(self._count, MEMORY), size=BATCH)
        return tuple(column[rows] for column in self._columns)


def test_return(environment: Any, network: Network) -> float:
    """Return the mean return of the best actions on the seeds 0 to TEST_EPISODES - 1."""
    total = 0.0
    for seed in range(TEST_EPISODES):
        state, is_over = environment.reset(seed=seed)[0], False
        while not is_over:
            state, reward, terminated, truncated, _ = environment.step(int(network.values(state).argmax()))
            total += float(reward)
            is_over = terminated or truncated
    return total / TEST_EPISODES


def learn(environment: Any, test_environment: Any, steps: int, seed: int) -> list[Any]:
    """Train a network; return the parameters that did best in a test."""
    random = numpy.random.default_rng(seed)
    inputs, action_count = environment.observation_space.shape[0], int(environment.action_space.n)
    network = Network([inputs, HIDDEN, HIDDEN, action_count], random)
    lagging = Network([inputs, HIDDEN, HIDDEN, action_count], random)
    adam, memory = Adam(network.parameters), Memory(inputs)
    best, best_return = network.parameters, -numpy.inf
    state = environment.reset(seed=seed)[0]
    for step in range(1, steps + 1):
        exploration = max(LAST_EXPLORATION, 1 - step / EXPLORING_STEPS)
        explores = random.random() < exploration
        action = int(random.integers(action_count)) if explores else int(network.values(state).argmax())
        after, reward, terminated, truncated, _ = environment.step(action)
        # A truncated episode was only cut off, so the value of its last state still counts.
        memory.add(state, action, REWARD_SCALE * float(reward), after, not terminated)
        state = environment.reset()[0] if terminated or truncated else after
        if step >= WARM_UP and step % LEARN_EVERY == 0:
            states, actions, rewards, afters, going_on = memory.sample(random)
            # One network chooses the action and the other values it, because a network that does both overestimates
            # values (van Hasselt et al., 2016).
            chosen = network.values(afters).argmax(axis=1)
            future = lagging.values(afters)[numpy.arange(BATCH), chosen]
            targets = rewards + DISCOUNT * going_on * future
            learning_rate = LEARNING_RATE * (1 - step / steps)
            adam.descend(network.parameters, network.gradient(states, actions, targets), learning_rate)
            for old, new in zip(lagging.parameters, network.parameters, strict=True):
                old += FOLLOWING * (new - old)
        if step >= WARM_UP and step % TEST_STEPS == 0:
            score = test_return(test_environment, network)
            print(f"step {step}: mean return {score:.1f} without exploration")
            # Results go up and down during training, so the best parameters are kept.
            if score >= best_return:
                best, best_return = [value.copy() for value in network.parameters], score
    return best


def main() -> None:
    """Run the command line."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("environment", nargs="?", default="CartPole-v1", help="id of Gymnasium")
    parser.add_argument("--arguments", type=json.loads, default={}, help="JSON with arguments for gymnasium.make")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of the environment")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("weights.npz"))
    options = parser.parse_args()
    environment, test_environment = (gymnasium.make(options.environment, **options.arguments) for _ in range(2))
    parameters = learn(environment, test_environment, options.steps, options.seed)
    names = [f"{kind}_{layer}" for layer in range(3) for kind in ("weights", "bias")]
    numpy.savez(options.output, **dict(zip(names, parameters, strict=True)))


if __name__ == "__main__":
    main()
