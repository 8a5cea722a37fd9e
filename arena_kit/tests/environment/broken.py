"""Environments that each break one promise of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count

from arena_kit.content import content_folder
from arena_kit.environment.loading import load
from arena_kit.environment.protocol import Frame, IllegalAction, MatchOver, Observation

FOLDER = content_folder("environments") / "tic_tac_toe"
_numbers = count()
_frame_to_svg: Callable[[Frame], str] = load("render:frame_to_svg", FOLDER)


class TicTacToe(load("environment:TicTacToe", FOLDER)):  # type: ignore[misc]  # found by path, it has no type here
    """The shipped game with the types of its methods."""

    _last: int | None

    def reset(self, seed: int) -> None:
        super().reset(seed)

    def observe(self, seat: int) -> Observation:
        seen: Observation = super().observe(seat)
        return seen

    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        rewards: tuple[float, ...] = super().step(actions)
        return rewards

    def frame(self) -> Frame:
        drawn: Frame = super().frame()
        return drawn


class OneReward(TicTacToe):
    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        return super().step(actions)[:1]


class InfiniteReward(TicTacToe):
    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        super().step(actions)
        return (float("inf"), float("-inf"))


class TakesAnything(TicTacToe):
    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        try:
            return super().step(actions)
        except IllegalAction:
            return (0.0, 0.0)


class ChangesBeforeRefusing(TicTacToe):
    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        try:
            return super().step(actions)
        except IllegalAction:
            self._last = 0 if self._last is None else self._last + 1
            raise


class RaisesKeyError(TicTacToe):
    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        if not actions:
            raise KeyError(0)
        return super().step(actions)


class NeverOver(TicTacToe):
    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        try:
            return super().step(actions)
        except MatchOver:
            return (0.0, 0.0)


class WithoutEnd(TicTacToe):
    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        rewards = super().step(actions)
        if self._over:
            self.reset(0)
        return rewards


class NotDeterministic(TicTacToe):
    def frame(self) -> Frame:
        return {**super().frame(), "serial": self._serial}

    def reset(self, seed: int) -> None:
        super().reset(seed)
        self._serial = next(_numbers)


class ForgetsToForget(TicTacToe):
    def __init__(self) -> None:
        self._matches = 0

    def reset(self, seed: int) -> None:
        super().reset(seed)
        self._matches += 1

    def frame(self) -> Frame:
        return {**super().frame(), "matches": self._matches}


class ShortObservation(TicTacToe):
    def observe(self, seat: int) -> Observation:
        seen = super().observe(seat)
        return Observation(seen.observation[:9], seen.valid_actions)


class LargeObservation(TicTacToe):
    def observe(self, seat: int) -> Observation:
        seen = super().observe(seat)
        return Observation([*seen.observation[:9], 128], seen.valid_actions)


class UnsortedActions(TicTacToe):
    def observe(self, seat: int) -> Observation:
        seen = super().observe(seat)
        return Observation(seen.observation, seen.valid_actions[::-1])


class NoActions(TicTacToe):
    def observe(self, seat: int) -> Observation:
        return Observation(super().observe(seat).observation, ())


class UnknownSeat(TicTacToe):
    @property
    def to_move(self) -> tuple[int, ...]:
        return (2,)


class SetInFrame(TicTacToe):
    def frame(self) -> Frame:
        return {**super().frame(), "free": set(self._free)}


class Silent(TicTacToe):
    def text(self) -> str:
        return " "


class TruncatedYetRunning(TicTacToe):
    @property
    def truncated(self) -> bool:
        return True


def cut_off(frame: Frame) -> str:
    """Return a picture that is not XML."""
    return _frame_to_svg(frame)[:-1]


def with_script(frame: Frame) -> str:
    """Return a picture with a script."""
    return _frame_to_svg(frame).replace("</svg>", "<script>alert(1)</script></svg>")


def without_title(frame: Frame) -> str:
    """Return a picture without a title for screen readers."""
    return _frame_to_svg(frame).replace("Tic-tac-toe board", "")
