"""The conformance test of an environment: the promises of `environments.api`, tried by random play.

check_environment(get_spec("connect-four"))
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from math import prod
from xml.etree import ElementTree

from environments.api import Environment, Frame, IllegalAction, MatchOver
from environments.spec import WIRE_RANGES, EnvironmentSpec

Played = list[dict[int, int]]


class NotConforming(AssertionError):
    """The environment breaks a promise of the protocol; the message says which."""


def check_environment(spec: EnvironmentSpec, *, matches: int = 20, seed: int = 0) -> None:
    """Play random matches and check every promise. Raises NotConforming with the spec's id and the promise.

    matches: how many matches to play, each with its own seed. seed: of the random play.
    """
    _Check(spec, random.Random(seed)).run(matches)


class _Check:
    def __init__(self, spec: EnvironmentSpec, rng: random.Random) -> None:
        self._spec, self._rng = spec, rng

    def run(self, matches: int) -> None:
        try:
            self._spec.validate()
        except ValueError as error:
            self._require(False, str(error))
        # One object plays all matches, fresh ones play them again: reset must forget what was before.
        used = self._spec.make()
        for match_seed in range(matches):
            used.reset(match_seed)
            played, frames = self._check_match(used)
            self._check_again(match_seed, played, frames)
        image = self._spec.folder / "static" / self._spec.image
        self._require(image.is_file(), f"the picture {self._spec.image} is missing from static/")
        if image.suffix == ".svg":
            self._check_picture(image.read_text(encoding="utf-8"), "the card picture")

    def _check_match(self, environment: Environment) -> tuple[Played, list[Frame]]:
        played: Played = []
        frames = [self._check_state(environment)]
        while seats := environment.to_move:
            limit = self._spec.max_steps
            self._require(len(played) < limit, f"a match is longer than max_steps = {limit}")
            self._check_illegal(environment, seats)
            actions = {seat: self._rng.choice(environment.observe(seat).valid_actions) for seat in seats}
            rewards = environment.step(actions)
            self._require(len(rewards) == self._spec.seats, "step does not return one reward per seat")
            self._require(all(math.isfinite(reward) for reward in rewards), "a reward is not a finite number")
            played.append(actions)
            frames.append(self._check_state(environment))
        self._refused(environment, dict.fromkeys(range(self._spec.seats), 0), MatchOver, "a step after the end")
        return played, frames

    def _check_again(self, seed: int, played: Played, frames: list[Frame]) -> None:
        environment = self._spec.make()
        environment.reset(seed)
        again = [environment.frame()]
        for actions in played:
            environment.step(actions)
            again.append(environment.frame())
        self._require(again == frames, "the same seed and actions give other frames")

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
            self._require(len(seen.observation) == size, f"an observation does not have {size} values")
            self._require(
                all(low <= value <= high for value in seen.observation),
                f"an observation does not fit {spec.observation.wire}",
            )
            valid = list(seen.valid_actions)
            self._require(valid == sorted(set(valid)), "valid_actions are not ascending")
            self._require(all(0 <= action < spec.action_count for action in valid), "an action exceeds action_count")
            self._require(bool(valid) or seat not in seats, "a seat that moves has no valid action")
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
        legal = {seat: environment.observe(seat).valid_actions[0] for seat in seats}
        for seat in seats:
            valid = environment.observe(seat).valid_actions
            within = next((action for action in range(self._spec.action_count) if action not in valid), -1)
            for action in (-1, -2, within, self._spec.action_count, 1 << 40):
                self._refused(environment, {**legal, seat: action}, IllegalAction, f"the action {action}")
        self._refused(environment, {}, IllegalAction, "a step without an action")

    def _refused(self, environment: Environment, actions: Mapping[int, int], error: type[Exception], what: str) -> None:
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
    """Everything that can be seen from outside."""
    seen = [environment.observe(seat) for seat in range(spec.seats)]
    return (
        environment.frame(),
        environment.to_move,
        environment.truncated,
        [(list(one.observation), list(one.valid_actions)) for one in seen],
    )
