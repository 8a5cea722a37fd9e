"""Adapts the class `Environment` of a classic folder to the arena's protocol: two seats that move in turn.

Its `reset` returns (state, valid_actions), its `step` (state, reward, done, valid_actions) with the reward of the seat
that moved; the other seat gets the negative.
"""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from arena_kit.environment.adapters.classic.values import Array, plain, read_reset, read_step
from arena_kit.environment.loading import load
from arena_kit.environment.protocol import Action, BrokenEnvironment, Frame, IllegalAction, MatchOver, Observation
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.environment.svg import label, svg

CLASS = "environment:Environment"
LINE_CHARACTERS, LINES = 64, 24
"""How much of a state's JSON the picture without HTML shows."""


class ClassicEnvironment:
    """Plays the matches of a classic environment.

    The state is copied after every step, an action is looked up in the list of valid ones before the game sees it, and
    whatever the game raises becomes BrokenEnvironment: no player is to blame for it.
    """

    def __init__(self, spec: EnvironmentSpec) -> None:
        assert spec.classic is not None
        self._spec, self._chance = spec, Chance() if spec.classic.uses_chance else None
        if self._chance is not None:
            self._chance.begin(0)
        self._game = self._guarded("Environment()", load(CLASS, spec.folder))
        self._takes_seed = takes_seed(self._game)
        self._dtype = np.dtype(spec.observation.wire)
        self._observed = bytes(spec.observation.byte_count)
        self._valid: tuple[int, ...] = ()
        self._mover, self._steps = 0, 0
        self._is_over, self._truncated = True, False

    def reset(self, seed: int) -> None:
        if self._chance is not None:
            self._chance.begin(seed)
        returned = self._guarded("reset", self._game.reset, **({"seed": seed} if self._takes_seed else {}))
        state, valid = self._guarded("reset", read_reset, returned)
        self._mover, self._steps, self._is_over, self._truncated = 0, 0, False, False
        self._observed = bytes(self._spec.observation.byte_count)
        self._see(state, valid)

    @property
    def to_move(self) -> tuple[int, ...]:
        return () if self._is_over else (self._mover,)

    @property
    def truncated(self) -> bool:
        return self._truncated

    def observe(self, seat: int) -> Observation:
        return Observation(self._observed, self._valid)

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        if self._is_over:
            raise MatchOver("The match is over.")
        mover = self._mover
        action = actions.get(mover, -1)
        if action not in self._valid:
            raise IllegalAction(f"The action {action!r} is not valid.")
        returned = self._guarded("step", self._game.step, action)
        stepped = self._guarded("step", read_step, returned)
        self._steps += 1
        self._truncated = not stepped.is_over and self._steps >= self._spec.max_steps
        self._is_over = stepped.is_over or self._truncated
        self._mover = 1 - mover
        self._see(stepped.state, () if self._is_over else stepped.valid)
        other = 0.0 - stepped.reward  # which is never -0.0
        return (stepped.reward, other) if mover == 0 else (other, stepped.reward)

    def frame(self) -> Frame:
        state = plain(self._guarded("to_jsonable", self._game.to_jsonable))
        return {"state": state, "to_move": None if self._is_over else self._mover}

    def text(self) -> str:
        return _escaped(json.dumps(self.frame()["state"], ensure_ascii=False))

    def _guarded(self, name: str, call: Callable[..., Any], *arguments: object, **named: object) -> Any:
        """Call the game with its own random numbers. Raises BrokenEnvironment for whatever it raises."""
        chance = self._chance
        if chance is not None:
            chance.enter()
        try:
            return call(*arguments, **named)
        except (Exception, SystemExit) as error:
            if isinstance(error, BrokenEnvironment):
                raise BrokenEnvironment(f"{self._spec.id}: {error}") from None
            raise BrokenEnvironment(f"{self._spec.id}: {name} raised {type(error).__name__}: {error}") from error
        finally:
            if chance is not None:
                chance.leave()

    def _see(self, state: Array | None, valid: tuple[int, ...]) -> None:
        spec = self._spec
        if not self._is_over and not valid:
            raise BrokenEnvironment(f"{spec.id}: the match goes on, but there is no valid action.")
        if valid and valid[-1] >= spec.action_count:
            raise BrokenEnvironment(
                f"{spec.id}: the action {valid[-1]} is valid, but action_count is {spec.action_count}."
            )
        self._valid = valid
        if state is None:
            return  # the state before stays
        if state.shape != spec.observation.shape:
            raise BrokenEnvironment(
                f"{spec.id}: a state has the shape {state.shape}, but its states have {spec.observation.shape}."
            )
        cast = state.astype(self._dtype, copy=False)
        if state.dtype != self._dtype and not np.array_equal(cast, state, equal_nan=state.dtype.kind == "f"):
            raise BrokenEnvironment(f"{spec.id}: a state of {state.dtype} does not fit {self._dtype}.")
        self._observed = cast.tobytes()


class Chance:
    """The random numbers of one match, for games that draw from `random` and `numpy.random`, which matches share."""

    def __init__(self) -> None:
        self._own: tuple[Any, Any] = states()
        self._others: tuple[Any, Any] = self._own

    def begin(self, seed: int) -> None:
        """Seed them for a new match."""
        before = states()
        random.seed(seed)
        np.random.seed(seed % (1 << 32))
        self._own = states()
        _set_states(before)

    def enter(self) -> None:
        self._others = states()
        _set_states(self._own)

    def leave(self) -> None:
        self._own = states()
        _set_states(self._others)


def states() -> tuple[Any, Any]:
    """Return the states of `random` and `numpy.random`."""
    return random.getstate(), np.random.get_state(legacy=True)


def _set_states(both: tuple[Any, Any]) -> None:
    random.setstate(both[0])
    np.random.set_state(both[1])


def takes_seed(game: Any) -> bool:
    """Return whether `reset` has a parameter `seed`, which older environments have not."""
    try:
        return "seed" in inspect.signature(game.reset).parameters
    except (TypeError, ValueError):
        return False


def html_of(spec: EnvironmentSpec, state: Any) -> str:
    """Return the HTML that the environment draws of a state: untrusted. Raises what it raises."""
    return _text("jsonable_to_html", _method(spec, "jsonable_to_html", 1)(state))


def head_of(spec: EnvironmentSpec) -> str:
    """Return the environment's HTML for the page's head: untrusted. Raises what it raises."""
    return _text("html_head", _method(spec, "html_head", 0)())


def _method(spec: EnvironmentSpec, name: str, count: int) -> Callable[..., Any]:
    """Return a method that is called without an object; one that was written for an object gets a new one."""
    kind = load(CLASS, spec.folder)
    static = inspect.getattr_static(kind, name, None)
    if static is None and name == "html_head":
        return lambda: ""
    if inspect.isfunction(static) and len(inspect.signature(static).parameters) > count:
        return getattr(kind(), name)  # type: ignore[no-any-return]
    return getattr(kind, name)  # type: ignore[no-any-return]


def _text(name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BrokenEnvironment(f"{name} must return text, not a {type(value).__name__}.")
    return str(value)


def frame_to_svg(frame: Frame) -> str:
    """Draw the JSON of a state, for where its HTML cannot be shown."""
    text = json.dumps(frame["state"], ensure_ascii=False)
    lines = [text[start : start + LINE_CHARACTERS] for start in range(0, len(text), LINE_CHARACTERS)]
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], "…"]
    height = 32 + 18 * len(lines)
    parts = [f'<rect class="board" width="560" height="{height}" rx="20"/>']
    parts += [
        label(20, 30 + 18 * row, 13, _drawable(line), anchor="start", colour="ink mono")
        for row, line in enumerate(lines)
    ]
    return svg(560, height, "The state as JSON", parts)


def _escaped(text: str) -> str:
    """Return JSON in which characters that hide or turn the text around them are escaped."""
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def _drawable(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return "".join(character if character.isprintable() else "�" for character in text)
