"""A script submission for any environment of Gymnasium: `python -u submission.py CartPole-v1`.

It learns a linear policy by the cross-entropy method, plays test episodes, and at the end prints one line of JSON with
`score` (the mean return of the test), `metrics` (its standard deviation, worst and best return) and `episodes`. It
needs Gymnasium and NumPy. The arena cannot check the score and marks it as self-reported.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import gymnasium
import numpy
from gymnasium.spaces import Box, Discrete, flatdim, flatten

LEARNING_STEPS = 150_000
"""Steps of the environment to learn from."""
LEARNING_SECONDS, TEST_SECONDS = 150, 60
"""Learning ends after this time if the steps are not used up, and so does the test: the arena ends a script after five
minutes, and a busy machine plays fewer steps in them."""
POPULATION = 24
BEST = 6
EPISODES = 2
"""Episodes per candidate, because the result of a single one may be luck."""
NOISE = 0.5
"""Added to the spread of the first generation, and less to each later one, to keep the search from ending too early."""
TEST_EPISODES = 100
EPISODE_STEPS = 1_000
"""Largest number of steps in an episode, because some environments never end an episode themselves."""
LEARNING_SEED, TEST_SEED = 0, 1_000_000


def action_of(environment: Any, weights: Any, observation: Any) -> Any:
    """Return the action of a linear policy: the number with the largest score, or the scores cut to the bounds."""
    flat: Any = flatten(environment.observation_space, observation)
    seen = numpy.append(flat, 1.0)
    scores = seen @ weights.reshape(len(seen), -1)
    space = environment.action_space
    if isinstance(space, Discrete):
        return int(space.start) + int(scores.argmax())
    return numpy.clip(scores.reshape(space.shape), space.low, space.high).astype(space.dtype)


def play(environment: Any, weights: Any, seed: int) -> tuple[float, int]:
    """Play one episode; return its return and its length."""
    observation, _ = environment.reset(seed=seed)
    total, length, is_over = 0.0, 0, False
    while not is_over and length < EPISODE_STEPS:
        observation, reward, terminated, truncated, _ = environment.step(action_of(environment, weights, observation))
        total, length, is_over = total + float(reward), length + 1, terminated or truncated
    return total, length


def learn(environment: Any, steps: int) -> Any:
    """Return the mean of the distribution of weights when the steps or the time are used up."""
    random = numpy.random.default_rng(LEARNING_SEED)
    outputs = flatdim(environment.action_space)
    count = (flatdim(environment.observation_space) + 1) * outputs
    mean, spread = numpy.zeros(count), numpy.ones(count)
    used = generation = 0
    began = time.monotonic()
    while used < steps and (generation == 0 or time.monotonic() - began < LEARNING_SECONDS):
        generation += 1
        candidates = random.normal(mean, spread, (POPULATION, count))
        # All candidates of a generation play the same seeds, so that no candidate has an easier start.
        seeds = random.integers(TEST_SEED, size=EPISODES).tolist()
        played = numpy.array([[play(environment, weights, seed) for seed in seeds] for weights in candidates])
        returns = played[:, :, 0].mean(axis=1)
        used += int(played[:, :, 1].sum())
        best = candidates[numpy.argsort(returns)[-BEST:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + NOISE / generation**0.5
        if generation % 10 == 0:
            print(f"generation {generation}, {used} steps: mean return {numpy.mean(returns):.1f}", file=sys.stderr)
    return mean


def test(environment: Any, weights: Any) -> list[float]:
    """Return the returns of the test episodes: one at least, and those for which there is time."""
    returns: list[float] = []
    began = time.monotonic()
    while not returns or (len(returns) < TEST_EPISODES and time.monotonic() - began < TEST_SECONDS):
        returns.append(play(environment, weights, TEST_SEED + len(returns))[0])
    return returns


def main(arguments: list[str]) -> int:
    """Learn, test and report the score; return the exit status."""
    environment_id = arguments[0] if arguments else "CartPole-v1"
    try:
        environment = gymnasium.make(environment_id)
    except (gymnasium.error.Error, ImportError) as error:
        print(json.dumps({"error": str(error)}))
        return 1
    if not isinstance(environment.action_space, (Discrete, Box)):
        print(json.dumps({"error": f"{environment_id} has actions that are neither numbers nor arrays of them."}))
        return 1
    weights = learn(environment, LEARNING_STEPS)
    returns = test(environment, weights)
    metrics = [float(numpy.std(returns)), min(returns), max(returns)]
    # The line with the score must be the last one.
    print(json.dumps({"score": float(numpy.mean(returns)), "metrics": metrics, "episodes": len(returns)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
