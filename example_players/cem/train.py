"""Finds the weights of a linear policy by the cross-entropy method and writes `weights.npy`: `python train.py`.

For CartPole-v1. The method (Rubinstein, 1999; with added noise: Szita and Lőrincz, 2006) draws weights from a normal
distribution, plays with each, and moves the distribution towards the best of them. It needs Gymnasium and NumPy, and
takes two or three seconds on one core. The same seed gives the same weights.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import gymnasium
import numpy

GENERATIONS = 12
POPULATION = 32
BEST = 6
EPISODES = 2
"""Episodes per candidate, because the result of a single one may be luck."""
NOISE = 0.5
"""Added to the spread of the first generation, and less to each later one, to keep the search from ending too early."""


def episode_return(environment: Any, weights: Any, seed: int) -> float:
    """Play one episode with the policy of `player.py`; return the sum of its rewards."""
    place, speed, angle, turn = weights.tolist()
    (x, x_speed, pole, pole_speed), _ = environment.reset(seed=seed)
    total, is_over = 0.0, False
    while not is_over:
        action = int(place * x + speed * x_speed + angle * pole + turn * pole_speed > 0)
        (x, x_speed, pole, pole_speed), reward, terminated, truncated, _ = environment.step(action)
        total += float(reward)
        is_over = terminated or truncated
    return total


def search(environment: Any, generations: int, seed: int) -> Any:
    """Return the mean of the last distribution, weights of shape (4,)."""
    random = numpy.random.default_rng(seed)
    mean, spread = numpy.zeros(4), numpy.ones(4)
    for generation in range(1, generations + 1):
        candidates = random.normal(mean, spread, (POPULATION, 4))
        # All candidates of a generation play the same seeds, so that no candidate has an easier start.
        seeds = random.integers(2**31, size=EPISODES).tolist()
        returns = [numpy.mean([episode_return(environment, weights, s) for s in seeds]) for weights in candidates]
        best = candidates[numpy.argsort(returns)[-BEST:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + NOISE / generation
        print(f"generation {generation}: mean return {numpy.mean(returns):.1f}, best {max(returns):.1f}")
    return mean


def main() -> None:
    """Run the command line."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("environment", nargs="?", default="CartPole-v1", help="id of Gymnasium")
    parser.add_argument("--arguments", type=json.loads, default={}, help="JSON with arguments for gymnasium.make")
    parser.add_argument("--generations", type=int, default=GENERATIONS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("weights.npy"))
    options = parser.parse_args()
    environment = gymnasium.make(options.environment, **options.arguments)
    numpy.save(options.output, search(environment, options.generations, options.seed))


if __name__ == "__main__":
    main()
