"""Environments of Gymnasium, used as the referee uses them."""

from __future__ import annotations

import math
import platform
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import yaml

from arena_kit.environment.adapters.describe import describe
from arena_kit.environment.adapters.gymnasium import GymnasiumEnvironment
from arena_kit.environment.conformance import NotConforming, check_environment
from arena_kit.environment.info import read_info
from arena_kit.environment.protocol import BrokenEnvironment, IllegalAction, MatchOver, MissingExtra
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec, GymnasiumSource
from arena_kit.tests.environment.playing import TASKS, episode, installed

pytestmark = pytest.mark.usefixtures("odd_environments")
SOME_ON_A_PUSH = [
    pytest.param(spec, id=str(spec.slug), marks=[pytest.mark.nightly] if number % 3 else [])
    for number, spec in enumerate(TASKS)
]
"""All shipped tasks, of which every third is tried on a push."""


def odd_spec(folder: Path, name: str, **changes: Any) -> EnvironmentSpec:
    """Return the spec of an odd environment, read from the file that the generator writes."""
    path = folder / "odd.yml"
    path.write_text(yaml.safe_dump(describe(f"Odd/{name}-v0", {}, 100) | changes))
    return read_info(path)


def started(spec: EnvironmentSpec, seed: int = 0) -> tuple[GymnasiumEnvironment, Any]:
    """Return the environment at the start of an episode, and the one of Gymnasium inside it."""
    environment = GymnasiumEnvironment(spec)
    environment.reset(seed)
    return environment, environment._environment.unwrapped


@pytest.mark.parametrize("spec", SOME_ON_A_PUSH)
def test_an_episode_is_the_one_that_gymnasium_plays(spec: EnvironmentSpec) -> None:
    """Observations, rewards and ends are those of `gymnasium.make` with all its wrappers."""
    source = installed(spec).gymnasium
    assert source is not None
    actions, rewards = episode(spec, seed=5, most=200)
    environment, own = gymnasium.make(source.id, **source.arguments), spec.make()
    environment.reset(seed=5)
    own.reset(5)
    clipped = gymnasium.wrappers.ClipAction(environment) if spec.action is not None else environment
    for step, (action, reward) in enumerate(zip(actions, rewards, strict=True), 1):
        given = action if isinstance(action, int) else np.frombuffer(action, np.float32)
        seen, expected, terminated, truncated, _ = clipped.step(given)
        assert own.step({0: action}) == (reward,) == (float(expected),)
        assert own.observe(0).observation == np.asarray(seen, np.dtype(spec.observation.wire)).tobytes()
        # Gymnasium has no step limit for CliffWalking and Blackjack.
        assert (own.to_move == ()) == (terminated or truncated or step == spec.max_steps)


@pytest.mark.parametrize("spec", SOME_ON_A_PUSH)
def test_a_shipped_file_says_what_gymnasium_has(spec: EnvironmentSpec) -> None:
    source = installed(spec).gymnasium
    assert source is not None
    found = describe(source.id, dict(source.arguments), spec.max_steps)

    assert found["observation"] == {
        "shape": list(spec.observation.shape), "dtype": spec.observation.dtype, "wire": spec.observation.wire,
    }  # fmt: skip
    assert found.get("action_count", 0) == spec.action_count
    if spec.action is not None:
        action = found["action"]
        assert (tuple(action["shape"]), action["dtype"], action["wire"]) == (
            spec.action.shape, spec.action.dtype, spec.action.wire,
        )  # fmt: skip
        assert (tuple(action["low"]), tuple(action["high"])) == (spec.action.low, spec.action.high)
    assert found["gymnasium"].get("extra", "") == source.extra
    assert found["gymnasium"].get("new_each_episode", False) == source.new_each_episode
    assert gymnasium.spec(source.id).max_episode_steps in (spec.max_steps, None)
    # Gymnasium's threshold for the lake is for slippery ice.
    assert spec.slug == "frozen-lake-deterministic" or spec.solved_score == found.get("solved_score")


@pytest.mark.parametrize(
    "name", ["Echo", "Started", "Switches", "Dials", "Push", "Whole", "Image", "Numbers", "Goal", "Remembers"]
)
def test_every_kind_of_space_can_be_played(name: str, tmp_path: Path) -> None:
    spec = replace(odd_spec(tmp_path, name), image="gymnasium.svg")
    check_environment(spec, matches=3)


def test_what_a_reset_leaves_behind_is_found(tmp_path: Path) -> None:
    spec = odd_spec(tmp_path, "Remembers")
    assert spec.gymnasium is not None
    assert spec.gymnasium.new_each_episode
    forgetful = replace(spec, gymnasium=replace(spec.gymnasium, new_each_episode=False))
    with pytest.raises(NotConforming, match="the same seed and actions give other"):
        check_environment(forgetful, matches=3)


@pytest.mark.parametrize(
    ("name", "wire", "shape"),
    [
        ("Started", "int8", (1,)),
        ("Switches", "int8", (2, 3)),
        ("Dials", "int32", (2,)),
        ("Whole", "int16", (3,)),
        ("Image", "uint8", (84, 84, 4)),
        ("Numbers", "int16", (3,)),
        ("Goal", "float64", (5,)),
    ],
)
def test_observations_take_the_smallest_type_that_holds_them(
    name: str, wire: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    spec = odd_spec(tmp_path, name)
    assert (spec.observation.wire, spec.observation.shape) == (wire, shape)
    environment, inside = started(spec)
    raw = environment.observe(0).observation
    assert isinstance(raw, bytes)
    seen = np.frombuffer(raw, wire)
    inside.observation_space.seed(0)
    if name in ("Numbers", "Goal"):
        expected = inside.observation_space.sample()
        flat = [expected["a"], *expected["b"]] if name == "Numbers" else None
        assert flat is None or seen.tolist() == flat
        assert name == "Numbers" or seen[:2].tolist() == expected["goal"].tolist()
    else:
        assert (seen == np.ravel(inside.observation_space.sample())).all()


def test_numbers_of_actions_begin_at_zero_for_players(tmp_path: Path) -> None:
    environment, inside = started(odd_spec(tmp_path, "Started"))
    assert list(environment.observe(0).valid_actions) == [0, 1, 2]
    environment.step({0: 0})
    environment.step({0: 2})
    assert inside.given == [5, 7]
    for action in (-1, 3, 5, True, b"\0"):
        with pytest.raises(IllegalAction, match="is not an action. The actions are 0 to 2|An array of 1 bytes"):
            environment.step({0: action})
    assert inside.given == [5, 7]


def test_real_actions_are_moved_onto_their_bounds(tmp_path: Path) -> None:
    environment, inside = started(odd_spec(tmp_path, "Push"))
    environment.step({0: struct.pack("<2f", 9, -9)})
    environment.step({0: struct.pack("<2f", -0.5, 3e38)})
    assert [given.tolist() for given in inside.given] == [[1, -2], [-0.5, pytest.approx(3e38)]]
    inside.given[0][:] = 0  # an environment may write into its action


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_actions_that_are_not_finite_are_illegal(value: float, tmp_path: Path) -> None:
    environment, inside = started(odd_spec(tmp_path, "Push"))
    with pytest.raises(IllegalAction, match="not finite"):
        environment.step({0: struct.pack("<2f", 0, value)})
    assert inside.given == []


@pytest.mark.parametrize(
    ("name", "code", "good", "bad"),
    [
        ("Dials", "2h", (2, -1), [(3, 0), (0, 199), (-1, 0), (0, -2)]),
        ("Switches", "4b", (0, 1, 1, 0), [(0, 0, 0, 2), (-1, 0, 0, 0)]),
        ("Whole", "2b", (-3, 3), [(-4, 0), (0, 4)]),
    ],
)
def test_whole_actions_out_of_bounds_are_illegal(
    name: str, code: str, good: tuple[int, ...], bad: list[tuple[int, ...]], tmp_path: Path
) -> None:
    environment, inside = started(odd_spec(tmp_path, name))
    environment.step({0: struct.pack(f"<{code}", *good)})
    for values in bad:
        with pytest.raises(IllegalAction, match="out of bounds"):
            environment.step({0: struct.pack(f"<{code}", *values)})
    assert [given.tolist() for given in inside.given] == [list(good)]
    assert inside.action_space.contains(inside.given[0])


def test_a_limit_of_steps_truncates_and_an_end_does_not(tmp_path: Path) -> None:
    ends, _ = started(odd_spec(tmp_path, "Echo", max_steps=3))
    limited, _ = started(odd_spec(tmp_path, "Endless", max_steps=2))
    itself, _ = started(odd_spec(tmp_path, "StopsItself"))
    for environment, steps in ((ends, 3), (limited, 2), (itself, 1)):
        for _ in range(steps):
            assert environment.to_move == (0,)
            environment.step({0: 0})
        assert environment.to_move == ()
        assert list(environment.observe(0).valid_actions) == []
        with pytest.raises(MatchOver):
            environment.step({0: 0})
    assert [ends.truncated, limited.truncated, itself.truncated] == [False, True, True]


def test_a_reward_that_is_no_number_is_the_environments_fault(tmp_path: Path) -> None:
    environment, _ = started(odd_spec(tmp_path, "NotANumber"))
    with pytest.raises(BrokenEnvironment, match="not-a-number-v1 gave the reward nan"):
        environment.step({0: 0})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"observation": {"shape": [5]}}, r"shape \[4\] and fit float32, not the shape \[5\] and int8"),
        ({"observation": {"shape": [4]}}, r"fit float32, not the shape \[4\] and int8"),
        ({"action_count": 3}, "actions are 0 to 1, not 0 to 2"),
    ],
)
def test_a_file_that_does_not_fit_is_answered_with_both(change: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "cart.yml"
    path.write_text(yaml.safe_dump(describe("CartPole-v1", {}) | {"slug": "cart"} | change))
    with pytest.raises(BrokenEnvironment, match=f"cart-v1 does not fit Gymnasium's CartPole-v1: .*{complaint}"):
        read_info(path).make()


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    spec = replace(get_spec("cart-pole"), gymnasium=GymnasiumSource("Odd/NeedsMore-v0", extra="box2d"))
    with pytest.raises(MissingExtra, match=r"here \(extra `box2d`\)\.$") as caught:
        spec.make()
    assert caught.value.hint == 'Run `pip install "gymnasium[box2d]"`.'
    spec = replace(spec, gymnasium=GymnasiumSource("no_such_module:Name-v0"))
    with pytest.raises(MissingExtra) as caught:
        spec.make()
    assert caught.value.hint == "Install what provides it."


@pytest.mark.parametrize(
    ("name", "arguments"), [("CartPole-v99", {}), ("Nowhere-v0", {}), ("CartPole-v1", {"colour": "red"})]
)
def test_what_gymnasium_cannot_make_is_the_environments_fault(name: str, arguments: dict[str, Any]) -> None:
    spec = replace(get_spec("cart-pole"), gymnasium=GymnasiumSource(name, arguments))
    with pytest.raises(BrokenEnvironment, match=f"Gymnasium .* cannot make {name}"):
        spec.make()


def test_the_runtime_names_the_packages_that_hold_the_rules_and_the_kind_of_processor() -> None:
    cart, ant = get_spec("cart-pole"), installed(get_spec("ant"))
    packages, _, processor = cart.runtime.rpartition(", ")
    assert packages == f"gymnasium {gymnasium.__version__}, numpy {np.__version__}"
    assert processor.split()[0] == platform.machine()
    assert ant.runtime.startswith(f"{packages}, mujoco ")
    assert ant.runtime.endswith(f", {processor}")
    assert get_spec("quarto-v1").runtime == ""
    source = GymnasiumSource("CartPole-v1", extra="of-an-organiser")
    assert replace(cart, gymnasium=source).runtime == cart.runtime


def test_public_ids_are_those_that_clients_know() -> None:
    assert get_spec("FrozenLake-v1").slug == "frozen-lake"
    assert get_spec("FrozenLake-v1-deterministic").slug == "frozen-lake-deterministic"
    assert get_spec("Taxi-v3").slug == "taxi"
    assert get_spec("CartPole-v1").slug == "cart-pole"


def test_an_episode_on_still_ice_goes_where_it_is_told() -> None:
    environment = get_spec("frozen-lake-deterministic").make()
    environment.reset(0)
    right, down = 2, 1
    rewards = [environment.step({0: action})[0] for action in (down, down, right, right, down, right)]
    assert (rewards, environment.to_move, environment.truncated) == ([0, 0, 0, 0, 0, 1], (), False)


def test_a_hostile_action_leaves_no_log_of_mujoco_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = installed(get_spec("humanoid"))
    environment = spec.make()
    environment.reset(0)
    for _ in range(5):
        if environment.to_move:
            environment.step({0: struct.pack("<17f", *[3e38] * 17)})
    assert list(tmp_path.iterdir()) == []
