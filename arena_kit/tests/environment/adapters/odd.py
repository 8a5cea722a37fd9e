"""Environments of Gymnasium with unusual spaces and behaviour, and their registration."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

HERE = __name__


class Echo(gymnasium.Env[Any, Any]):
    """An environment of three steps that keeps its actions and draws observations from the space."""

    observation_space: spaces.Space[Any] = spaces.Box(-1, 1, (2, 2), np.float32)
    action_space: spaces.Space[Any] = spaces.Discrete(3)
    reward = 1.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.given: list[Any] = []
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        self.given.append(action)
        return self.observation_space.sample(), self.reward, len(self.given) == 3, False, {}


class Started(Echo):
    """Actions 5 to 7; observations −2 to 1."""

    action_space = spaces.Discrete(3, start=5)
    observation_space = spaces.Discrete(4, start=-2)


class Switches(Echo):
    action_space = spaces.MultiBinary(4)
    observation_space = spaces.MultiBinary((2, 3))


class Dials(Echo):
    action_space = spaces.MultiDiscrete([3, 200], start=[0, -1])
    observation_space = spaces.MultiDiscrete([3, 70000])


class Push(Echo):
    """An environment in which one dimension has only one bound."""

    action_space = spaces.Box(np.array([-1.0, -2.0], np.float32), np.array([1.0, np.inf], np.float32))


class Whole(Echo):
    action_space = spaces.Box(-3, 3, (2,), np.int16)
    observation_space = spaces.Box(0, 1000, (3,), np.int64)


class Image(Echo):
    observation_space = spaces.Box(0, 255, (84, 84, 4), np.uint8)


class Numbers(Echo):
    """An environment with a Dict of whole numbers."""

    observation_space = spaces.Dict({"a": spaces.Discrete(300), "b": spaces.MultiBinary(2)})


class Goal(Echo):
    """An environment with a Dict that Gymnasium flattens."""

    observation_space = spaces.Dict({"goal": spaces.Box(-1, 1, (2,), np.float64), "kind": spaces.Discrete(3)})


class Words(Echo):
    observation_space = spaces.Text(10)


class TwoAtOnce(Echo):
    action_space = spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2)))


class NotANumber(Echo):
    reward = math.nan


class Remembers(Echo):
    """An environment whose reset leaves something behind."""

    episodes = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.episodes += 1
        observation, info = super().reset(seed=seed)
        return observation / self.episodes, info


class Endless(Echo):
    def step(self, action: Any) -> Any:
        return *super().step(action)[:2], False, False, {}


class StopsItself(Echo):
    def step(self, action: Any) -> Any:
        return *super().step(action)[:2], False, True, {}


class NeedsMore(Echo):
    def __init__(self) -> None:
        raise gymnasium.error.DependencyNotInstalled("flux is not installed")


KINDS = (
    Echo, Started, Switches, Dials, Push, Whole, Image, Numbers, Goal, Words, TwoAtOnce, NotANumber, Remembers, Endless,
    StopsItself, NeedsMore,
)  # fmt: skip


def register() -> None:
    """Register all of them with Gymnasium as `Odd/<class>-v0`."""
    for kind in KINDS:
        limit = None if kind in (Endless, StopsItself) else 100
        gymnasium.register(f"Odd/{kind.__name__}-v0", f"{HERE}:{kind.__name__}", max_episode_steps=limit)


def unregister() -> None:
    """Remove them from Gymnasium's registry."""
    for kind in KINDS:
        del gymnasium.registry[f"Odd/{kind.__name__}-v0"]
