"""A script submission for any environment of Gymnasium: `python -u submission.py CartPole-v1`.

It learns a linear policy by the cross-entropy method, plays test episodes, and prints one line of JSON at the end:
`score` (mean return of the test), `metrics` (its spread, worst and best) and `episodes`. Needs Gymnasium and NumPy.
The number is the script's own word, so the arena marks it as self-reported.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import gymnasium
import numpy
from gymnasium.spaces import Box, Discrete, flatdim, flatten

LEARNING_STEPS = 150_000
"""Of the environment: the container has half a core for five minutes."""
POPULATION = 24
BEST = 6
EPISODES = 2
"""Of each candidate: one alone may be lucky."""
NOISE = 0.5
"""Added to the spread of the first generation, less and less to later ones, so that it does not settle too early."""
TEST_EPISODES = 100
EPISODE_STEPS = 1_000
"""Some environments never end an episode by themselves."""
LEARNING_SEED, TEST_SEED = 0, 1_000_000


def action_of(environment: Any, weights: Any, observation: Any) -> Any:
    """What a linear policy does: the largest score where actions are numbers, scores within the bounds else."""
    flat: Any = flatten(environment.observation_space, observation)
    seen = numpy.append(flat, 1.0)
    scores = seen @ weights.reshape(len(seen), -1)
    space = environment.action_space
    if isinstance(space, Discrete):
        return int(space.start) + int(scores.argmax())
    return numpy.clip(scores.reshape(space.shape), space.low, space.high).astype(space.dtype)


def play(environment: Any, weights: Any, seed: int) -> tuple[float, int]:
    """Return and length of one episode."""
    observation, _ = environment.reset(seed=seed)
    total, length, is_over = 0.0, 0, False
    while not is_over and length < EPISODE_STEPS:
        observation, reward, terminated, truncated, _ = environment.step(action_of(environment, weights, observation))
        total, length, is_over = total + float(reward), length + 1, terminated or truncated
    return total, length


def learn(environment: Any, steps: int) -> Any:
    """The middle of the distribution of weights when the steps are used up."""
    random = numpy.random.default_rng(LEARNING_SEED)
    outputs = flatdim(environment.action_space)
    count = (flatdim(environment.observation_space) + 1) * outputs
    mean, spread = numpy.zeros(count), numpy.ones(count)
    used = generation = 0
    while used < steps:
        generation += 1
        candidates = random.normal(mean, spread, (POPULATION, count))
        # The same seeds for all candidates of a generation: none wins by an easier start.
        seeds = random.integers(TEST_SEED, size=EPISODES).tolist()
        played = numpy.array([[play(environment, weights, seed) for seed in seeds] for weights in candidates])
        returns = played[:, :, 0].mean(axis=1)
        used += int(played[:, :, 1].sum())
        best = candidates[numpy.argsort(returns)[-BEST:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + NOISE / generation**0.5
        if generation % 10 == 0:
            print(f"generation {generation}, {used} steps: mean return {numpy.mean(returns):.1f}", file=sys.stderr)
    return mean


def main(arguments: list[str]) -> int:
    """Learn, test, report. Returns the exit status."""
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
    returns = [play(environment, weights, TEST_SEED + episode)[0] for episode in range(TEST_EPISODES)]
    metrics = [float(numpy.std(returns)), min(returns), max(returns)]
    # The last line: nothing may be printed after it.
    print(json.dumps({"score": float(numpy.mean(returns)), "metrics": metrics, "episodes": len(returns)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
