"""Evaluations of random play in this process, for tests of rechecks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from arena_kit.environment.episodes import EpisodeRecord, EvaluationRecord
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.referee.play import run_episode
from arena_kit.tests.environment.playing import random_action

Change = Callable[[EpisodeRecord], dict[str, Any]]


class RandomPlayer:
    """A player whose actions are drawn from a seed."""

    def __init__(self, spec: EnvironmentSpec, seed: int) -> None:
        self._spec, self._random = spec, random.Random(seed)

    def start(self, state: Any, valid_actions: Any) -> Any:
        action = random_action(self._spec, self._random)
        return action if isinstance(action, int) else np.frombuffer(action, self._spec.action.wire)  # type: ignore[union-attr]

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any:
        return self.start(state, valid_actions)

    def end(self, state: Any, prev_reward: float) -> None:
        pass


def evaluation_record(spec: EnvironmentSpec, seeds: Sequence[int], *, chance: int = 0) -> EvaluationRecord:
    """Return the record of an episode for every seed. chance: the seed of the play."""
    episodes = [
        run_episode(spec, RandomPlayer(spec, 1000 * chance + seed), seed, number=number)
        for number, seed in enumerate(seeds, start=1)
    ]
    return EvaluationRecord(spec.id, spec.runtime, "anna v1", tuple(episodes))


def with_episode(record: EvaluationRecord, number: int, change: Change) -> EvaluationRecord:
    """Return a function that changes one episode of a record."""
    episodes = [replace(one, **change(one)) if one.number == number else one for one in record.episodes]
    return replace(record, episodes=tuple(episodes))
