"""A script submission that learns by PPO: `python -u submission.py CartPole-v1`.

It uses Stable-Baselines3 and PyTorch (Schulman et al., 2017, "Proximal policy optimization algorithms"), learns for a
fixed time, plays test episodes, and at the end prints one line of JSON with `score` (the mean return of the test),
`metrics` (its standard deviation, worst and best return) and `episodes`.
"""

from __future__ import annotations

import json
import sys
import time

import gymnasium
import numpy
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

LEARNING_SECONDS = 150.0
"""The arena ends a script after 300 seconds on half a core, of which loading and the test take their share."""
PARALLEL = 8
"""Environments at once, because asking the network for eight actions costs little more than asking for one."""
STEPS = 100_000
"""Enough for the small tasks; where a step takes long, LEARNING_SECONDS ends the learning."""
TEST_EPISODES = 20
LEARNING_SEED, TEST_SEED = 0, 1_000_000


def main(arguments: list[str]) -> int:
    """Learn, test and report the score; return the exit status."""
    environment_id = arguments[0] if arguments else "CartPole-v1"
    torch.set_num_threads(1)
    try:
        environments = make_vec_env(environment_id, PARALLEL, seed=LEARNING_SEED)
        model = PPO("MlpPolicy", environments, n_steps=256, seed=LEARNING_SEED, device="cpu")
    except (gymnasium.error.Error, ImportError, AssertionError) as error:
        # Stable-Baselines3 asserts that it knows the kinds of states and actions.
        print(json.dumps({"error": str(error)}))
        return 1
    end = time.monotonic() + LEARNING_SECONDS
    model.learn(STEPS, callback=lambda *_: time.monotonic() < end)
    print(f"learned for {model.num_timesteps} steps", file=sys.stderr)
    test = make_vec_env(environment_id, seed=TEST_SEED)
    returns, _ = evaluate_policy(model, test, TEST_EPISODES, return_episode_rewards=True, warn=False)
    metrics = [float(numpy.std(returns)), float(min(returns)), float(max(returns))]
    # The line with the score must be the last one.
    print(json.dumps({"score": float(numpy.mean(returns)), "metrics": metrics, "episodes": len(returns)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
