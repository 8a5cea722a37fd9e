"""A running match with spaces, arrays and masks, as all exports need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from arena_kit.contract import action_of
from arena_kit.environment.adapters.exports.pictures import RENDER_MODES, check_render_mode, colours, own_pictures
from arena_kit.environment.openings import begin, opening_of
from arena_kit.environment.protocol import Action, Environment, IllegalAction
from arena_kit.environment.spec import WIRE_RANGES, ActionArraySpec, ArraySpec, EnvironmentSpec

TURNS_PER_SECOND = 4
"""The speed at which a video shows the states of a game."""


class SeatedMatch:
    """A match of an environment, played with arrays of NumPy.

    An illegal action forfeits, as in the arena: the match ends, the seat at fault gets minus `forfeit_score`, every
    other seat gets plus that. If several seats are at fault in one step, the first of them forfeits.
    """

    def __init__(self, spec: EnvironmentSpec, render_mode: str | None = None, *, openings: bool = True) -> None:
        """openings: whether matches begin with the opening of their seed.

        Raises ValueError for an unknown render mode, MissingExtra and BrokenEnvironment.
        """
        check_render_mode(render_mode)
        self.spec, self.render_mode = spec, render_mode
        self._is_begun = False
        self._has_openings = openings and spec.openings is not None
        self.observation_space = observation_space(spec)
        self.action_space: Any = action_space(spec)
        self.has_mask = spec.action is None
        self.forfeited_by: int | None = None
        """The seat that forfeited the match; None if no seat has."""
        self._itself = own_pictures(spec) if render_mode == "rgb_array" else None
        self._environment: Environment = self._itself or spec.make()

    @property
    def metadata(self) -> dict[str, Any]:
        """The render modes, and how many pictures a second a video shows, for Gymnasium and PettingZoo."""
        speed = TURNS_PER_SECOND if self._itself is None else self._itself.frames_per_second
        return {"render_modes": list(RENDER_MODES), "render_fps": speed}

    @property
    def to_move(self) -> tuple[int, ...]:
        """The seats that act now; `()` before the match begins and when it is over."""
        return () if self.forfeited_by is not None or not self._is_begun else self._environment.to_move

    @property
    def truncated(self) -> bool:
        return self.forfeited_by is None and self._environment.truncated

    def reset(self, seed: int) -> None:
        """Begin the match of a seed, as the arena begins a rated one. No seat is told the rewards of the opening."""
        self.forfeited_by, self._is_begun = None, True
        begin(self._environment, seed, opening_of(self.spec, seed) if self._has_openings else ())

    def observation(self, seat: int) -> Any:
        """Return the array that a player in this seat receives."""
        return observation_array(self.spec, self._environment.observe(seat).observation)

    def valid_actions(self, seat: int) -> Any:
        """Return the valid actions of a seat as players get them: empty if it does not act now."""
        valid = self._environment.observe(seat).valid_actions if seat in self.to_move else ()
        return np.array(valid, dtype="int64")

    def mask(self, seat: int) -> Any:
        """Return a 1 for every action that the seat may play now and a 0 for the others."""
        mask = np.zeros(self.spec.action_count, dtype=np.int8)
        mask[self.valid_actions(seat)] = 1
        return mask

    def step(self, actions: Mapping[int, Any]) -> tuple[float, ...]:
        """Play an action for every seat in `to_move`, given as integers or arrays; return one reward per seat."""
        chosen = {seat: self._encoded(actions[seat]) for seat in self.to_move}
        if self.has_mask:
            wrong = [seat for seat, action in chosen.items() if action not in self._environment.observe(seat)[1]]
            if wrong:
                return self._forfeit(min(wrong))
        try:
            return self._environment.step(chosen)
        except IllegalAction:
            return self._forfeit(min(chosen))

    def text(self) -> str:
        return self._environment.text()

    def render(self) -> Any:
        """Return the state in the form that the render mode names: text, SVG as text, or an array of colours.

        Raises MissingExtra, and BrokenEnvironment if the environment cannot be drawn.
        """
        if self.render_mode == "ansi":
            return self.text()
        if self.render_mode == "svg":
            return self.picture()
        if self.render_mode != "rgb_array":
            return None
        return colours(self.picture() or "") if self._itself is None else self._itself.render()

    def picture(self) -> str | None:
        """Return the state as SVG; None before the first match. Raises BrokenEnvironment."""
        # Without the id of an address that chooses the dark scheme: a notebook may show several.
        return self.spec.render(self._environment.frame()).replace(' id="dark"', "", 1) if self._is_begun else None

    def _forfeit(self, seat: int) -> tuple[float, ...]:
        self.forfeited_by = seat
        loss = self.spec.forfeit_score
        return tuple(-loss if other == seat else loss for other in range(self.spec.seats))

    def _encoded(self, action: Any) -> Action:
        if self.spec.action is None:
            return action_of(action)
        return np.asarray(action, self.spec.action.wire).tobytes()


def observation_array(spec: EnvironmentSpec, seen: Sequence[float] | bytes) -> Any:
    """Return what a seat sees as the array that a player receives."""
    array = spec.observation
    values = np.frombuffer(seen, np.dtype(array.wire).newbyteorder("<")) if isinstance(seen, bytes) else np.array(seen)
    return values.astype(array.dtype).reshape(array.shape)


def action_array(spec: EnvironmentSpec, action: Action) -> Any:
    """Return a recorded action as a player gave it: a whole number, or an array."""
    if spec.action is None or not isinstance(action, bytes):
        return action
    values = np.frombuffer(action, np.dtype(spec.action.wire).newbyteorder("<"))
    return values.astype(spec.action.dtype).reshape(spec.action.shape)


def observation_space(spec: EnvironmentSpec) -> Any:
    return _space(spec.observation)


def action_space(spec: EnvironmentSpec) -> Any:
    return spaces.Discrete(spec.action_count) if spec.action is None else _action_space(spec.action)


def _space(array: ArraySpec) -> Any:
    low, high = WIRE_RANGES[array.wire]
    return spaces.Box(low, high, array.shape, np.dtype(array.dtype).type)


def _action_space(action: ActionArraySpec) -> Any:
    least, most = WIRE_RANGES[action.wire]
    low, high = np.full(action.shape, least, action.dtype), np.full(action.shape, most, action.dtype)
    for bound, given in ((low, action.low), (high, action.high)):
        if given:
            bound.flat[:] = given
    return spaces.Box(low, high, action.shape, np.dtype(action.dtype).type)
