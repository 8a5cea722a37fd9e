"""Finds by random play the facts that a classic environment does not declare, in the process that tries it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from arena_kit.environment.adapters.classic.environment import CLASS, states, takes_seed
from arena_kit.environment.adapters.classic.info import Facts
from arena_kit.environment.adapters.classic.values import Array, read_reset, read_step, wire_of
from arena_kit.environment.loading import load
from arena_kit.environment.protocol import BrokenEnvironment

MATCHES = 100
SECONDS = 3.0
"""Learning ends after this many matches or this time, whichever is first, and at least one match."""


def learn(folder: Path, *, max_steps: int) -> Facts:
    """Play random matches and return what was seen. Raises BrokenEnvironment, and whatever the environment raises."""
    kind: Callable[[], Any] = load(CLASS, folder)
    seen, rng, until = _Seen(), random.Random(0), time.monotonic() + SECONDS
    for seed in range(MATCHES):
        random.seed(seed)
        np.random.seed(seed)
        before = states()
        game = kind()
        seen.play(game, rng, max_steps, seed)
        seen.look_at_chance(before)
        if time.monotonic() > until:
            break
    return seen.facts()


class _Seen:
    """The findings of the matches so far."""

    def __init__(self) -> None:
        self._shape: tuple[int, ...] | None = None
        self._dtype: np.dtype[Any] | None = None
        self._is_array = True
        self._greatest, self._score, self._uses_chance = 0, 0.0, False

    def play(self, game: Any, rng: random.Random, max_steps: int, seed: int) -> None:
        returned = game.reset(seed=seed) if takes_seed(game) else game.reset()
        state, valid = read_reset(returned)
        self._note(returned[0], state, valid)
        score, sign, is_over = 0.0, 1, False
        for _ in range(max_steps):
            if not valid:
                break
            returned = game.step(rng.choice(valid))
            stepped = read_step(returned)
            valid, is_over = stepped.valid, stepped.is_over
            self._note(returned[0], stepped.state, valid)
            score, sign = score + sign * stepped.reward, -sign
            self._score = max(self._score, abs(score))
            if is_over:
                break
        if not is_over and not valid:
            raise BrokenEnvironment("the match goes on, but there is no valid action.")

    def _note(self, given: object, state: Array | None, valid: tuple[int, ...]) -> None:
        if valid:
            self._greatest = max(self._greatest, valid[-1])
        if state is None:
            return
        if self._shape is not None and self._shape != state.shape:
            raise BrokenEnvironment(
                f"its states have different shapes, {self._shape} and {state.shape}; they must always have the same."
            )
        self._shape = state.shape
        self._dtype = state.dtype if self._dtype is None else np.result_type(self._dtype, state.dtype)
        self._is_array = self._is_array and isinstance(given, np.ndarray)

    def look_at_chance(self, before: tuple[Any, Any]) -> None:
        python, numpy = states()
        same = python == before[0] and numpy[2] == before[1][2] and np.array_equal(numpy[1], before[1][1])
        self._uses_chance = self._uses_chance or not same

    def facts(self) -> Facts:
        dtype, wire = wire_of(self._dtype or np.dtype("int64"), is_array=self._is_array)
        return Facts(
            shape=self._shape or (1,),
            dtype=dtype,
            wire=wire,
            action_count=self._greatest + 1,
            score=self._score or 1.0,
            uses_chance=self._uses_chance,
        )
