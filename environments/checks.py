"""The conformance test of an environment: the promises of `environments.api`, tried by random play."""

from __future__ import annotations

import json
import random
from math import prod
from xml.etree import ElementTree

from environments.api import Environment, Frame, IllegalAction, MatchOver
from environments.spec import EnvironmentSpec

WIRE_RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1)}


class NotConforming(AssertionError):
    """The environment breaks a promise of the protocol; the message says which."""


def check_environment(spec: EnvironmentSpec, *, matches: int = 20, seed: int = 0) -> None:
    """Play random matches and check every promise. Raises NotConforming."""
    rng = random.Random(seed)
    for match_seed in range(matches):
        actions, frames = _check_match(spec, match_seed, rng)
        again = [frame for frame in _frames(spec, match_seed, actions)]
        _require(frames == again, "the same seed and actions give other frames")
    _require((spec.folder / "static" / spec.image).is_file(), f"the image {spec.image} is missing")


def _check_match(spec: EnvironmentSpec, seed: int, rng: random.Random) -> tuple[list[dict[int, int]], list[Frame]]:
    environment = spec.make()
    environment.reset(seed)
    played: list[dict[int, int]] = []
    frames = [_check_state(spec, environment)]
    while seats := environment.to_move:
        _require(len(played) < spec.max_steps, f"a match is longer than max_steps = {spec.max_steps}")
        _check_illegal(spec, environment, seats)
        actions = {seat: rng.choice(environment.observe(seat).valid_actions) for seat in seats}
        rewards = environment.step(actions)
        _require(len(rewards) == spec.seats, "step does not return one reward per seat")
        played.append(actions)
        frames.append(_check_state(spec, environment))
    try:
        environment.step({0: 0})
    except MatchOver:
        return played, frames
    raise NotConforming(f"{spec.id}: a step after the end does not raise MatchOver")


def _check_state(spec: EnvironmentSpec, environment: Environment) -> Frame:
    low, high = WIRE_RANGES.get(spec.observation.wire, (float("-inf"), float("inf")))
    for seat in range(spec.seats):
        seen = environment.observe(seat)
        _require(len(seen.observation) == prod(spec.observation.shape), "an observation does not have the spec's shape")
        _require(all(low <= value <= high for value in seen.observation), "an observation does not fit its wire type")
        valid = list(seen.valid_actions)
        _require(valid == sorted(set(valid)), "valid_actions are not ascending")
        _require(all(0 <= action < spec.action_count for action in valid), "a valid action is not below action_count")
        _require(bool(valid) == bool(environment.to_move) or seat not in environment.to_move, "no valid action")
    frame = environment.frame()
    _require(json.loads(json.dumps(frame)) == frame, "a frame is not plain JSON")
    ElementTree.fromstring(spec.render(frame))
    _require(bool(environment.text().strip()), "the text form is empty")
    return frame


def _check_illegal(spec: EnvironmentSpec, environment: Environment, seats: tuple[int, ...]) -> None:
    before = environment.frame()
    valid = environment.observe(seats[0]).valid_actions
    illegal = next((action for action in range(spec.action_count) if action not in valid), None)
    for action in (-1, spec.action_count, illegal):
        if action is None:
            continue
        try:
            environment.step({seat: action for seat in seats})
        except IllegalAction:
            _require(environment.frame() == before, "an illegal action changes the state")
            continue
        raise NotConforming(f"{spec.id}: the illegal action {action} is accepted")


def _frames(spec: EnvironmentSpec, seed: int, played: list[dict[int, int]]) -> list[Frame]:
    environment = spec.make()
    environment.reset(seed)
    frames = [environment.frame()]
    for actions in played:
        environment.step(actions)
        frames.append(environment.frame())
    return frames


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise NotConforming(complaint)
