"""The protocol every environment speaks: one seat, two seats or many, simultaneous moves included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

Action = int | bytes
"""An action on the referee's side: a plain integer, or where `spec.action` describes an array its raw values,
little-endian and row-major in the wire type."""

Frame = dict[str, Any]
"""One drawable state as plain JSON values."""


class ArenaEnvironmentError(Exception):
    """Base of the errors of this package."""


class IllegalAction(ArenaEnvironmentError):
    """The action is not among the valid actions of the seat that played it."""


class MatchOver(ArenaEnvironmentError):
    """A step was asked for after the end of the match."""


class UnknownEnvironment(ArenaEnvironmentError):
    """No environment of this name is registered."""


class BrokenEnvironment(ArenaEnvironmentError):
    """The environment has failed by itself, or is not what its file says; no player is to blame."""


class MissingExtra(ArenaEnvironmentError):
    """The environment needs a package that is not installed here. hint: for who runs this, how to get it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Observation(NamedTuple):
    """What one seat sees before it acts.

    observation: flat sequence of numbers in row-major order, shape and dtype as in the spec; or the same as raw
    little-endian bytes of the wire type, which costs least where it is an array already.
    valid_actions: the legal actions, ascending; empty after the end, and where actions are arrays. Neither is changed
    by later steps.
    """

    observation: Sequence[float] | bytes
    valid_actions: Sequence[int]


class Environment(Protocol):
    """A running match of a game or task. Rules are pure: same seed and actions, same frames."""

    def reset(self, seed: int) -> None:
        """Start a new match. Everything random in the match is drawn from `seed`."""

    @property
    def to_move(self) -> tuple[int, ...]:
        """Seats that act now; `()` when the match is over."""

    def observe(self, seat: int) -> Observation:
        """What `seat` sees now (also after the end of the match)."""

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        """Play one action for every seat in `to_move`; return one reward per seat.

        Raises IllegalAction, also when the action of a seat is missing, or MatchOver; nothing has changed then.
        """

    @property
    def truncated(self) -> bool:
        """Whether the match was ended by a limit, not by its rules."""

    def frame(self) -> Frame:
        """The state as JSON, for the viewer."""

    def text(self) -> str:
        """The state as plain text, for a terminal or a screen reader."""
