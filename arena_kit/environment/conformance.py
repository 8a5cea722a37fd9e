"""Checks by random play that an environment keeps the promises of `arena_kit.environment.protocol`.

Example: `check_environment(get_spec("connect-four"))`.
"""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple
from xml.etree import ElementTree

from arena_kit.environment.openings import NoOpening, check_openings
from arena_kit.environment.protocol import Action, Environment, Frame, IllegalAction, MatchOver
from arena_kit.environment.spec import WIRE_CODES, WIRE_RANGES, ActionArraySpec, EnvironmentSpec

Played = list[dict[int, Action]]

SHORT_STEPS = 100
"""In matches of at most this many steps, every state is checked in full."""
CLOSELY_CHECKED_STEPS = 10
"""In longer matches, every state up to this step is checked in full, and every fiftieth state after it."""


class NotConforming(AssertionError):
    """The environment breaks a promise of the protocol; the message names which."""


def check_environment(spec: EnvironmentSpec, *, matches: int = 20, seed: int = 0, with_picture: bool = True) -> None:
    """Play random matches and check every promise.

    matches: the number of matches, each with its own seed. seed: the seed of the random play. with_picture: whether to
    check the card picture, too. Raises NotConforming with the spec's id and the broken promise.
    """
    check = _Check(spec, random.Random(seed))
    check.run(matches)
    if with_picture:
        check.look_at_card()


def check_card(spec: EnvironmentSpec) -> None:
    """Check the card picture alone. Raises NotConforming."""
    _Check(spec, random.Random(0)).look_at_card()


def random_match(spec: EnvironmentSpec, seed: int) -> Iterator[tuple[Environment, tuple[float, ...]]]:
    """Play a match at random; yield the environment and the last rewards at its start and after each step."""
    environment, player = spec.make(), _Check(spec, random.Random(seed))
    environment.reset(seed)
    yield environment, ()
    for _ in range(spec.max_steps):
        if not (seats := environment.to_move):
            return
        yield environment, environment.step({seat: player.action(environment, seat) for seat in seats})


class _Step(NamedTuple):
    """The result and the observations of a step."""

    rewards: tuple[float, ...]
    seen: list[list[float]]
    """The observation of each seat."""
    frame: Frame | None
    """The frame, where the state was checked in full."""


class _Check:
    def __init__(self, spec: EnvironmentSpec, rng: random.Random) -> None:
        self._spec, self._rng = spec, rng

    def run(self, matches: int) -> None:
        try:
            self._spec.validate()
        except ValueError as error:
            self._require(False, str(error))
        try:
            check_openings(self._spec)
        except NoOpening as error:
            self._require(False, str(error))
        # One object plays all matches and a new one repeats each, which shows whether reset leaves anything behind.
        used = self._spec.make()
        for match_seed in range(matches):
            used.reset(match_seed)
            self._check_again(match_seed, *self._check_match(used))

    def look_at_card(self) -> None:
        image = self._spec.folder / "static" / self._spec.image
        self._require(image.is_file(), f"the picture {self._spec.image} is missing from static/")
        if image.suffix == ".svg":
            self._check_picture(image.read_text(encoding="utf-8"), "the card picture")

    def _check_match(self, environment: Environment) -> tuple[Played, list[_Step]]:
        spec = self._spec
        played: Played = []
        steps = [_Step((), _seen(environment, spec), self._check_state(environment))]
        while seats := environment.to_move:
            self._require(len(played) < spec.max_steps, f"a match is longer than max_steps = {spec.max_steps}")
            closely = self._is_close(len(played))
            if closely:
                self._check_illegal(environment, seats)
            actions = {seat: self.action(environment, seat) for seat in seats}
            rewards = environment.step(actions)
            self._require(len(rewards) == spec.seats, "step does not return one reward per seat")
            self._require(all(math.isfinite(reward) for reward in rewards), "a reward is not a finite number")
            played.append(actions)
            closely = self._is_close(len(played)) or not environment.to_move
            frame = self._check_state(environment) if closely else None
            steps.append(_Step(rewards, _seen(environment, spec), frame))
        last = {seat: self._any_action() for seat in range(spec.seats)}
        self._refused(environment, last, MatchOver, "a step after the end")
        return played, steps

    def _check_again(self, seed: int, played: Played, steps: list[_Step]) -> None:
        environment = self._spec.make()
        environment.reset(seed)
        rewards: tuple[float, ...] = ()
        for number, step in enumerate(steps):
            if number:
                rewards = environment.step(played[number - 1])
            frame = None if step.frame is None else environment.frame()
            self._require(frame == step.frame, "the same seed and actions give other frames")
            again = (rewards, _seen(environment, self._spec))
            self._require(again == step[:2], "the same seed and actions give other rewards or observations")

    def _is_close(self, number: int) -> bool:
        return self._spec.max_steps <= SHORT_STEPS or number <= CLOSELY_CHECKED_STEPS or number % 50 == 0

    def action(self, environment: Environment, seat: int) -> Action:
        if self._spec.action is not None:
            return self._any_action()
        return self._rng.choice(environment.observe(seat).valid_actions)

    def _any_action(self) -> Action:
        """Return a random array within its bounds, or within ±1 where it has none; 0 where actions are numbers."""
        if self._spec.action is None:
            return 0
        low, high = bounds(self._spec.action)
        if is_real(self._spec.action):
            return pack(self._spec.action, [self._rng.uniform(*pair) for pair in zip(low, high, strict=True)])
        return pack(self._spec.action, [self._rng.randint(int(a), int(b)) for a, b in zip(low, high, strict=True)])

    def _check_state(self, environment: Environment) -> Frame:
        spec, seats = self._spec, environment.to_move
        low, high = WIRE_RANGES[spec.observation.wire]
        self._require(
            len(set(seats)) == len(seats) and all(0 <= seat < spec.seats for seat in seats),
            f"to_move names the seats {seats}",
        )
        self._require(not (environment.truncated and seats), "a truncated match goes on")
        for seat in range(spec.seats):
            before = _state(environment, spec)
            seen = environment.observe(seat)
            self._require(_state(environment, spec) == before, "observe changes the state")
            size = prod(spec.observation.shape)
            if isinstance(seen.observation, bytes):
                count = spec.observation.byte_count
                self._require(len(seen.observation) == count, f"an observation does not have {count} bytes")
            else:
                self._require(len(seen.observation) == size, f"an observation does not have {size} values")
                self._require(
                    all(low <= value <= high for value in seen.observation),
                    f"an observation does not fit {spec.observation.wire}",
                )
            valid = list(seen.valid_actions)
            self._require(valid == sorted(set(valid)), "valid_actions are not ascending")
            self._require(all(0 <= action < spec.action_count for action in valid), "an action exceeds action_count")
            is_array = spec.action is not None
            self._require(bool(valid) or is_array or seat not in seats, "a seat that moves has no valid action")
            self._require(bool(seats) or not valid, "there are valid actions after the end")
        frame = environment.frame()
        self._check_frame(frame)
        self._require(bool(environment.text().strip()), "the text form is empty")
        return frame

    def _check_frame(self, frame: Frame) -> None:
        try:
            same = json.loads(json.dumps(frame, allow_nan=False)) == frame
        except (TypeError, ValueError):
            same = False
        self._require(same, "a frame is not plain JSON")
        self._check_picture(self._spec.render(frame), "the picture of a frame")

    def _check_picture(self, picture: str, what: str) -> None:
        try:
            root = ElementTree.fromstring(picture)
        except ElementTree.ParseError as error:
            raise NotConforming(f"{self._spec.id}: {what} is not well-formed XML: {error}") from None
        svg = "{http://www.w3.org/2000/svg}"
        self._require(root.tag == f"{svg}svg", f"{what} is not SVG")
        self._require(bool(root.findtext(f"{svg}title")), f"{what} has no title for screen readers")
        names = [name.lower() for element in root.iter() for name in (element.tag, *element.attrib)]
        active = [
            name
            for name in names
            if name.startswith("on") or name.endswith(("}script", "}href", "}foreignobject")) or name == "href"
        ]
        self._require(not active, f"{what} holds scripts or references: {active[:1]}")

    def _check_illegal(self, environment: Environment, seats: tuple[int, ...]) -> None:
        legal = {seat: self.action(environment, seat) for seat in seats}
        for seat in seats:
            for action, what in self._illegal_actions(environment, seat):
                self._refused(environment, {**legal, seat: action}, IllegalAction, what)
        self._refused(environment, {}, IllegalAction, "a step without an action")

    def _illegal_actions(self, environment: Environment, seat: int) -> Iterator[tuple[Action, str]]:
        spec = self._spec
        if spec.action is None:
            valid = environment.observe(seat).valid_actions
            within = next((action for action in range(spec.action_count) if action not in valid), -1)
            yield from ((action, f"the action {action}") for action in (-1, -2, within, spec.action_count, 1 << 40))
            if spec.seats == 1:
                yield b"\0", "an array as action"
            return
        legal = self._any_action()
        assert isinstance(legal, bytes)
        yield 0, "the action 0"
        yield from ((wrong, f"an action of {len(wrong)} bytes") for wrong in (b"", legal[:-1], legal + b"\0"))
        low, high = bounds(spec.action)
        wrong_values: list[float]
        if is_real(spec.action):
            wrong_values = [math.nan, math.inf, -math.inf]
        else:
            least, most = WIRE_RANGES[spec.action.wire]
            wrong_values = [value for value in (low[-1] - 1, high[-1] + 1) if least <= value <= most]
        for value in wrong_values:
            yield pack(spec.action, [*low[:-1], value]), f"an action with the value {value:g}"

    def _refused(
        self, environment: Environment, actions: Mapping[int, Action], error: type[Exception], what: str
    ) -> None:
        before = _state(environment, self._spec)
        try:
            environment.step(actions)
        except error:
            self._require(_state(environment, self._spec) == before, f"{what} is refused but changes the state")
            return
        except Exception as other:
            raise NotConforming(
                f"{self._spec.id}: {what} raises {type(other).__name__}, not {error.__name__}"
            ) from other
        raise NotConforming(f"{self._spec.id}: {what} does not raise {error.__name__}")

    def _require(self, holds: bool, complaint: str) -> None:
        if not holds:
            raise NotConforming(f"{self._spec.id}: {complaint}")


def _state(environment: Environment, spec: EnvironmentSpec) -> tuple[object, ...]:
    """Return everything that can be seen from outside."""
    seen = [environment.observe(seat) for seat in range(spec.seats)]
    return (
        environment.frame(),
        environment.to_move,
        environment.truncated,
        [(list(one.observation), list(one.valid_actions)) for one in seen],
    )


def _seen(environment: Environment, spec: EnvironmentSpec) -> list[list[float]]:
    return [list(environment.observe(seat).observation) for seat in range(spec.seats)]


def is_real(action: ActionArraySpec) -> bool:
    """Return whether its values are real numbers, not whole numbers."""
    return action.wire.startswith("float")


def bounds(action: ActionArraySpec) -> tuple[list[float], list[float]]:
    """Return the least and the greatest of each value for random play.

    Where a bound is missing, it is ±1, or the other bound ±1 where that lies beyond.
    """
    size = prod(action.shape)
    lows = (list(action.low) or [-math.inf]) * (1 if len(action.low) == size else size)
    highs = (list(action.high) or [math.inf]) * (1 if len(action.high) == size else size)
    low = [min(-1.0, most - 1) if math.isinf(least) else least for least, most in zip(lows, highs, strict=True)]
    high = [max(1.0, least + 1) if math.isinf(most) else most for least, most in zip(low, highs, strict=True)]
    return low, high


def pack(action: ActionArraySpec, values: Sequence[float]) -> bytes:
    """Return an array action as raw bytes of the wire type."""
    code = WIRE_CODES[action.wire]
    return struct.pack(f"<{len(values)}{code}", *(values if is_real(action) else map(int, values)))
