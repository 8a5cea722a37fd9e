"""A game with large observations for benchmarks: 84 x 84 x 4 bytes per move, and actions without effect.

Both seats see the same picture, which changes after each move like a video game's screen.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Mapping

from arena_kit.environment.protocol import Action, Frame, Observation
from arena_kit.environment.spec import ArraySpec, EnvironmentSpec

SHAPE = (84, 84, 4)
PICTURE_BYTES = 84 * 84 * 4
ACTIONS = 6
STEPS = 20
NOISE = array("B", random.Random(0).randbytes(PICTURE_BYTES + STEPS + 256))
SPEC = EnvironmentSpec(
    slug="pixels", version=1, name="Pixels", description="", image="none.svg", renderer="benchmarks.pixels:Pixels",
    entry_point="benchmarks.pixels:Pixels", seats=2, observation=ArraySpec(SHAPE, "uint8", "uint8"),
    action_count=ACTIONS, forfeit_score=1, max_steps=STEPS, matches_per_duel=2, matches_per_validation=2,
)  # fmt: skip


ALONE = EnvironmentSpec(
    slug="pixels-alone", version=1, name="Pixels", description="", image="none.svg",
    renderer="benchmarks.pixels:Pixels", entry_point="benchmarks.pixels:PixelsAlone",
    seats=1, observation=ArraySpec(SHAPE, "uint8", "uint8"),
    action_count=ACTIONS, forfeit_score=0, max_steps=STEPS, episodes_per_evaluation=1, matches_per_validation=1,
)  # fmt: skip
"""The same game for one seat."""


class Pixels:
    """The seats act in turn, and every match is a draw."""

    def reset(self, seed: int) -> None:
        self._first, self._steps = seed % 256, 0

    @property
    def to_move(self) -> tuple[int, ...]:
        return (self._steps % 2,) if self._steps < STEPS else ()

    @property
    def truncated(self) -> bool:
        return False

    def observe(self, seat: int) -> Observation:
        start = self._first + self._steps
        return Observation(NOISE[start : start + PICTURE_BYTES], range(ACTIONS) if self.to_move else ())

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        self._steps += 1
        return (0.0, 0.0)

    def frame(self) -> Frame:
        return {"steps": self._steps}

    def text(self) -> str:
        return f"{self._steps} steps"


class PixelsAlone(Pixels):
    """The same game with one seat."""

    @property
    def to_move(self) -> tuple[int, ...]:
        return (0,) if self._steps < STEPS else ()

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        self._steps += 1
        return (0.0,)
