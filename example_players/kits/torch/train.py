"""Trains a policy network by REINFORCE (Williams, 1992) in PyTorch and writes `weights.npz`: `python train.py`."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy

import arena_kit

try:
    import torch
except ModuleNotFoundError:
    raise SystemExit("Training needs PyTorch: pip install -r train-requirements.txt") from None

ENVIRONMENT = "$environment"
ENVIRONMENTS = "$environments"
"""The folder into which `arena pull` wrote the environment; empty if arena-kit holds it."""
OPPONENT = "random"
"""The opponent to learn against: `random`, the name of an example player, or a folder; unused with one seat."""
EPISODES = 4_000
BATCH = 20
"""Episodes between two changes of the network."""
HIDDEN = 64
LEARNING_RATE = 0.003
DISCOUNT = 0.99
ENTROPY = 0.01
"""How much it is worth to stay undecided, which keeps the network from settling too early."""


def network(inputs: int, actions: int) -> Any:
    """Return the network; `policy` in `player.py` computes the same."""
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, HIDDEN),
        torch.nn.Tanh(),
        torch.nn.Linear(HIDDEN, HIDDEN),
        torch.nn.Tanh(),
        torch.nn.Linear(HIDDEN, actions),
    )


def chances(model: Any, states: Any, masks: Any) -> Any:
    """Return the distribution over the valid actions in each of these states."""
    return torch.distributions.Categorical(logits=model(states).masked_fill(~masks, -1e9), validate_args=False)


def play(environment: Any, model: Any, seed: int | None = None) -> list[tuple[Any, Any, Any, float]]:
    """Play an episode; return the state, the mask of valid actions, the action and the reward of each step."""
    state, info = environment.reset(seed=seed)
    steps, is_over = [], False
    while not is_over:
        seen = torch.as_tensor(state, dtype=torch.float32).ravel()
        mask = torch.as_tensor(info["action_mask"], dtype=torch.bool)
        with torch.no_grad():
            action = chances(model, seen, mask).sample()
        state, reward, terminated, truncated, info = environment.step(int(action))
        steps.append((seen, mask, action, float(reward)))
        is_over = terminated or truncated
    return steps


def returns_of(rewards: list[float]) -> list[float]:
    """Return, for each step, the discounted sum of the rewards from there on."""
    found: list[float] = []
    total = 0.0
    for reward in reversed(rewards):
        total = reward + DISCOUNT * total
        found.append(total)
    return found[::-1]


def learn(environment: Any, model: Any, episodes: int, seed: int) -> None:
    """Train the network in place."""
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    for batch in range(max(1, episodes // BATCH)):
        played = [play(environment, model, seed if batch == number == 0 else None) for number in range(BATCH)]
        # The network sees all steps once more, together: that takes a fraction of the time of one by one.
        states, masks, actions = (torch.stack([step[part] for steps in played for step in steps]) for part in range(3))
        gains = torch.tensor([gain for steps in played for gain in returns_of([step[-1] for step in steps])])
        gains = (gains - gains.mean()) / (gains.std(correction=0) + 1e-6)
        chosen = chances(model, states, masks)
        loss = -(chosen.log_prob(actions) * gains).mean() - ENTROPY * chosen.entropy().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if (batch + 1) % 10 == 0:
            mean = sum(step[-1] for steps in played for step in steps) / BATCH
            print(f"{(batch + 1) * BATCH} episodes: mean return {mean:.2f}")


def main() -> None:
    """Run the command line."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("weights.npz"))
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    environment: Any = arena_kit.make(ENVIRONMENT, OPPONENT, environments=ENVIRONMENTS)
    inputs = int(numpy.prod(environment.observation_space.shape))
    model = network(inputs, int(environment.action_space.n))
    learn(environment, model, options.episodes, options.seed)
    numpy.savez(options.output, *(value.detach().numpy() for value in model.parameters()))
    print(f"The weights are in {options.output.name}.")


if __name__ == "__main__":
    main()
