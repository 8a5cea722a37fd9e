"""Learns a table of values by Q-learning (Watkins, 1989) and writes `table.json`: `python train.py`."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import arena_kit

ENVIRONMENT = "$environment"
ENVIRONMENTS = "$environments"
"""The folder into which `arena pull` wrote the environment; empty if arena-kit holds it."""
OPPONENT = "random"
"""The opponent to learn against: `random`, the name of an example player, or a folder; unused with one seat."""
STEPS = 150_000
"""Own moves to learn from."""
DISCOUNT = 0.98
FIRST_EXPLORATION, LAST_EXPLORATION = 1.0, 0.05
"""The share of random actions, at first and after half of the steps."""
LEAST_RATE = 0.05
"""The learning rate falls with the visits to a state and action, down to this."""
TEST_EPISODES = 200


def key_of(state: Any) -> str:
    """Return a state as a key of the table, as `player.py` does."""
    return ",".join(str(int(number)) for number in state)


def best_of(values: dict[int, float], valid: list[int], random: Random) -> int:
    """Return a valid action with the highest value."""
    highest = max(values.get(action, 0.0) for action in valid)
    return random.choice([action for action in valid if values.get(action, 0.0) == highest])


def learn(environment: Any, steps: int, seed: int) -> dict[str, dict[int, float]]:
    """Return the values of actions by state."""
    random = Random(seed)
    values: dict[str, dict[int, float]] = defaultdict(dict)
    visits: dict[tuple[str, int], int] = defaultdict(int)
    key, valid, is_over = "", [], True
    environment.reset(seed=seed)
    for step in range(steps):
        if is_over:
            state, info = environment.reset()
            key, valid = key_of(state), info["action_mask"].nonzero()[0].tolist()
        exploration = max(LAST_EXPLORATION, FIRST_EXPLORATION - 2 * step / steps)
        action = random.choice(valid) if random.random() < exploration else best_of(values[key], valid, random)
        state, reward, terminated, truncated, info = environment.step(action)
        after, valid = key_of(state), info["action_mask"].nonzero()[0].tolist()
        # A truncated episode was only cut off, so the value of its last state still counts.
        known = values[after].values() if truncated else [values[after].get(other, 0.0) for other in valid]
        visits[key, action] += 1
        rate = max(LEAST_RATE, 1 / visits[key, action])
        before = values[key].get(action, 0.0)
        values[key][action] = before + rate * (reward + DISCOUNT * max(known, default=0.0) - before)
        key, is_over = after, terminated or truncated
    return values


def test_return(environment: Any, values: dict[str, dict[int, float]], seed: int) -> float:
    """Return the mean return of the best actions."""
    random, total = Random(seed), 0.0
    for episode in range(TEST_EPISODES):
        state, info = environment.reset(seed=seed + 1 if episode == 0 else None)
        is_over = False
        while not is_over:
            valid = info["action_mask"].nonzero()[0].tolist()
            action = best_of(values.get(key_of(state), {}), valid, random)
            state, reward, terminated, truncated, info = environment.step(action)
            total, is_over = total + reward, terminated or truncated
    return total / TEST_EPISODES


def main() -> None:
    """Run the command line."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("table.json"))
    options = parser.parse_args()
    environment = arena_kit.make(ENVIRONMENT, OPPONENT, environments=ENVIRONMENTS)
    print(f"mean return at random: {test_return(environment, {}, options.seed):.2f}")
    values = learn(environment, options.steps, options.seed)
    best = {key: max(sorted(actions), key=lambda action: actions[action]) for key, actions in values.items() if actions}
    options.output.write_text(json.dumps(best))
    print(f"mean return after {options.steps} steps: {test_return(environment, values, options.seed):.2f}")
    print(f"{len(best)} states are in {options.output.name}")


if __name__ == "__main__":
    main()
