"""How to write an agent for a task: state and actions in words, and starter code, all made from the spec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.environment.spec import ActionArraySpec, ArraySpec, EnvironmentSpec
from web.site.numbers import short

MOST_NAMES = 32


@dataclass(frozen=True, slots=True)
class Contract:
    """The contract of a task in its guide. `trial_code` is empty if Gymnasium cannot make the environment."""

    state: str
    state_names: tuple[str, ...]
    action: str
    action_names: tuple[tuple[int, str], ...]
    is_array: bool
    """Whether an action is an array; `valid_actions` is then empty."""
    player_code: str
    trial_code: str
    script_id: str
    """The id that a script gets as its argument: the one of Gymnasium, so that the script can make the environment."""
    script_code: str


def contract(spec: EnvironmentSpec, practice_seeds: Sequence[int]) -> Contract:
    """Return the player contract with the observation and action of an environment."""
    names = spec.action_names[:MOST_NAMES]
    script_id = spec.gymnasium.id if spec.gymnasium else spec.public_id
    return Contract(
        state=array_words(spec.observation),
        state_names=spec.observation_names[:MOST_NAMES],
        action=_action_words(spec),
        action_names=tuple(enumerate(names)),
        is_array=spec.action is not None,
        player_code=_player_code(spec),
        trial_code=_trial_code(spec, practice_seeds) if spec.gymnasium else "",
        script_id=script_id,
        script_code=SCRIPT.format(id=script_id),
    )


def array_words(array: ArraySpec) -> str:
    """Describe an array: `an array of 4 numbers (float32)`, `an array of 84 × 84 × 4 whole numbers (uint8)`."""
    kind = "number" if array.dtype.startswith("float") else "whole number"
    shape = " × ".join(str(size) for size in array.shape)
    plural = "" if shape == "1" else "s"
    return f"an array of {shape} {kind}{plural} ({array.dtype})"


def _action_words(spec: EnvironmentSpec) -> str:
    if spec.action is None:
        return f"a whole number from 0 to {spec.action_count - 1}, one of valid_actions"
    return array_words(spec.action) + _bounds(spec.action)


def _bounds(action: ActionArraySpec) -> str:
    if len(set(action.low)) == 1 and len(set(action.high)) == 1:
        return f", each from {short(action.low[0])} to {short(action.high[0])}"
    return ", each within its own bounds" if action.low or action.high else ""


def _player_code(spec: EnvironmentSpec) -> str:
    if spec.action is None:
        return PLAYER.format(imports="", choice="return 0  # your policy")
    shape = f"({', '.join(map(str, spec.action.shape))},)" if len(spec.action.shape) == 1 else str(spec.action.shape)
    choice = f"return np.zeros({shape}, {spec.action.dtype!r})  # your policy".replace("'", '"')
    return PLAYER.format(imports="import numpy as np\n\n", choice=choice)


def _trial_code(spec: EnvironmentSpec, seeds: Sequence[int]) -> str:
    assert spec.gymnasium is not None
    arguments = "".join(f", {name}={value!r}" for name, value in spec.gymnasium.arguments.items())
    shown = f"range({seeds[0]}, {seeds[-1] + 1})" if seeds and _is_run(seeds) else repr(list(seeds))
    valid = f"np.arange({spec.action_count})" if spec.action is None else "np.empty(0, int)"
    shape = f"({spec.observation.shape[0]},)" if len(spec.observation.shape) == 1 else str(spec.observation.shape)
    return TRIAL.format(
        id=spec.gymnasium.id,
        arguments=arguments.replace("'", '"'),
        seeds=shown,
        valid=valid,
        shape=shape,
        dtype=spec.observation.dtype,
    )


def _is_run(seeds: Sequence[int]) -> bool:
    return list(seeds) == list(range(seeds[0], seeds[0] + len(seeds)))


PLAYER = '''\
{imports}# Load your model here: this code runs once for many episodes.

class Player:
    def __init__(self, train_mode):
        """Episodes that run side by side have a Player each."""

    def start(self, state, valid_actions):
        """Begin an episode, perhaps after another one. Return the first action."""
        return self.act(state)

    def step(self, state, valid_actions, prev_reward):
        """Return the next action. prev_reward: reward for your last action."""
        return self.act(state)

    def end(self, state, prev_reward):
        """The episode is over."""

    def act(self, state):
        {choice}'''

TRIAL = """\
import gymnasium
import numpy as np

from player import Player

environment = gymnasium.make("{id}"{arguments})
valid_actions, scores = {valid}, []
for seed in {seeds}:  # the public seeds
    player, total, over = Player(False), 0.0, False
    state, _ = environment.reset(seed=seed)
    action = player.start(np.asarray(state, "{dtype}").reshape({shape}), valid_actions)
    while not over:
        state, reward, terminated, truncated, _ = environment.step(action)
        total, over = total + float(reward), terminated or truncated
        state = np.asarray(state, "{dtype}").reshape({shape})
        if over:
            player.end(state, reward)
        else:
            action = player.step(state, valid_actions, reward)
    scores.append(total)
print(scores, np.mean(scores))"""

SCRIPT = """\
import json
import sys

import gymnasium

environment = gymnasium.make(sys.argv[1] if len(sys.argv) > 1 else "{id}")
episodes, total = 10, 0.0
for seed in range(episodes):
    state, _ = environment.reset(seed=seed)
    over = False
    while not over:
        action = environment.action_space.sample()  # learn, then act
        state, reward, terminated, truncated, _ = environment.step(action)
        total, over = total + float(reward), terminated or truncated

# The last printed line counts.
print(json.dumps({{"score": total / episodes, "metrics": [], "episodes": episodes}}))"""
