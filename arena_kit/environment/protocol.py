"""The protocol of every environment, with one seat, two or many, in turns or with simultaneous moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

Action = int | bytes
"""An action on the referee's side: a plain integer, or the raw bytes of the array that `spec.action` describes,
row-major and little-endian in the wire type."""

Frame = dict[str, Any]
"""One drawable state as plain JSON values."""


class ArenaEnvironmentError(Exception):
    """Base class of this package's errors."""


class IllegalAction(ArenaEnvironmentError):
    """The action is not among the valid actions of the seat that played it."""


class MatchOver(ArenaEnvironmentError):
    """`step` was called after the end of the match."""


class UnknownEnvironment(ArenaEnvironmentError):
    """No environment of this name is registered."""


class BrokenEnvironment(ArenaEnvironmentError):
    """The environment failed, or does not fit its `info.yml`; no player is to blame."""


class MissingExtra(ArenaEnvironmentError):
    """The environment needs a package that is not installed here. hint: tells organisers how to install it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Observation(NamedTuple):
    """The view of one seat before it acts.

    observation: the numbers as a flat sequence in row-major order, or as raw little-endian bytes of the wire type,
    which is cheaper where the environment has an array; the spec gives shape and types. valid_actions: the legal
    actions, ascending; empty after the end, and where actions are arrays. Later steps change neither of them.
    """

    observation: Sequence[float] | bytes
    valid_actions: Sequence[int]


class Environment(Protocol):
    """A running match. The rules are deterministic: the same seed and actions give the same frames."""

    def reset(self, seed: int) -> None:
        """Start a new match, in which everything random is drawn from `seed`."""

    @property
    def to_move(self) -> tuple[int, ...]:
        """The seats that act now; `()` when the match is over."""

    def observe(self, seat: int) -> Observation:
        """Return what `seat` sees now; works after the end of the match, too."""

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        """Play one action for every seat in `to_move`; return one reward per seat.

        Raises IllegalAction, also when a seat's action is missing, and MatchOver. In both cases the state is unchanged.
        """

    @property
    def truncated(self) -> bool:
        """Return whether a limit ended the match, not its rules."""

    def frame(self) -> Frame:
        """Return the state as JSON, for the viewer."""

    def text(self) -> str:
        """Return the state as plain text, for a terminal or a screen reader."""
