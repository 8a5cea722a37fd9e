from __future__ import annotations

from dataclasses import replace

import pytest

from arena_kit.environment.conformance import SHORT_STEPS, NotConforming, check_environment
from arena_kit.environment.registry import all_specs, get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.tests.environment.playing import installed


@pytest.mark.slow
@pytest.mark.parametrize("spec", all_specs(), ids=lambda spec: str(spec.id))
def test_every_environment_keeps_the_promises_of_the_protocol(spec: EnvironmentSpec) -> None:
    check_environment(installed(spec), matches=10 if spec.max_steps <= SHORT_STEPS else 2)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("OneReward", "one reward per seat"),
        ("InfiniteReward", "not a finite number"),
        ("TakesAnything", "the action -1 does not raise IllegalAction"),
        ("ChangesBeforeRefusing", "refused but changes the state"),
        ("RaisesKeyError", "a step without an action raises KeyError"),
        ("NeverOver", "a step after the end does not raise MatchOver"),
        ("WithoutEnd", "longer than max_steps = 9"),
        ("NotDeterministic", "the same seed and actions give other frames"),
        ("ForgetsToForget", "the same seed and actions give other frames"),
        ("ShortObservation", "does not have 10 values"),
        ("LargeObservation", "does not fit int8"),
        ("UnsortedActions", "not ascending"),
        ("NoActions", "has no valid action"),
        ("UnknownSeat", "to_move names the seats"),
        ("SetInFrame", "not plain JSON"),
        ("Silent", "text form is empty"),
        ("TruncatedYetRunning", "truncated match goes on"),
    ],
)
def test_a_broken_promise_is_named(name: str, complaint: str) -> None:
    spec = replace(get_spec("tic-tac-toe-v1"), entry_point=f"arena_kit.tests.environment.broken:{name}")
    with pytest.raises(NotConforming, match=complaint) as caught:
        check_environment(spec)
    assert str(caught.value).startswith("tic-tac-toe-v1: ")


@pytest.mark.parametrize(
    ("renderer", "complaint"),
    [("cut_off", "not well-formed"), ("with_script", "scripts or references"), ("without_title", "no title")],
)
def test_a_bad_picture_is_named(renderer: str, complaint: str) -> None:
    spec = replace(get_spec("tic-tac-toe-v1"), renderer=f"arena_kit.tests.environment.broken:{renderer}")
    with pytest.raises(NotConforming, match=complaint):
        check_environment(spec)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [({"image": "missing.svg"}, "missing.svg is missing"), ({"action_count": 8}, "exceeds action_count")],
)
def test_a_spec_that_does_not_fit_its_environment_is_named(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(NotConforming, match=complaint):
        check_environment(replace(get_spec("tic-tac-toe-v1"), **change))  # type: ignore[arg-type]  # any field
