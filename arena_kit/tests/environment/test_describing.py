"""Environments that Gymnasium has registered, described in a limited process."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from arena_kit.environment import registry
from arena_kit.environment.adapters.describe import describe
from arena_kit.environment.adapters.ids import kept_slug
from arena_kit.environment.folder import environment_zip
from arena_kit.environment.info import BadInfo, read_text
from arena_kit.environment.outside import describing, describing_program
from arena_kit.environment.outside.describing import NotDescribed, described, is_registered, registered_ids
from arena_kit.environment.protocol import BrokenEnvironment, UnknownEnvironment
from arena_kit.environment.registry import get_spec, use_files
from arena_kit.environment.server.client import RemoteEnvironment, close_servers, server_of

HOSTILE = (
    "", " ", "CartPole", "CartPole-v0 ", " CartPole-v0", "CartPole-v0\n", "CartPole-v0\0", "CartPole-v0?x=1",
    "gymnasium:CartPole-v0", "os:CartPole-v0", "module:Env-v0", "../CartPole-v0", "./CartPole-v0", "/CartPole-v0",
    "a/b/CartPole-v0", "CartPole-v0/", "cartpole-v0", "CartPole-v00", "CartPole-v-0", "CartPole-v9",
    "Ca\u200brtPole-v0",
    "С\u0430rtPole-v0", "CartPole-v0;import os", "x" * 10_000, "-v0", "..", "$(id)", "\ud800", "CartPole-v0\u202e",
    "file:///etc/passwd", "gymnasium.envs.classic_control.cartpole:CartPoleEnv",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_only_exact_ids_are_registered(name: str) -> None:
    assert not is_registered(name)


def test_ids_of_gymnasium_are_registered_and_listed() -> None:
    assert {"CartPole-v0", "CartPole-v1", "phys2d/CartPole-v0"} <= set(registered_ids())
    assert is_registered("CartPole-v0")
    assert list(registered_ids()) == sorted(registered_ids())


def test_a_described_environment_is_played_from_the_text_of_its_file() -> None:
    text = described("CartPole-v0", "gym-cart-pole-0")
    spec = read_text(text, "CartPole-v0")
    assert (spec.slug, spec.name, spec.public_id, spec.seats) == ("gym-cart-pole-0", "CartPole-v0", "CartPole-v0", 1)
    assert (spec.max_steps, spec.action_count, spec.observation.shape) == (200, 2, (4,))
    environment = spec.make()
    environment.reset(1)
    assert environment.to_move == (0,)


def test_one_without_a_limit_of_steps_gets_one() -> None:
    spec = read_text(described("CliffWalkingSlippery-v1", "gym-cliff"), "it")
    assert spec.max_steps == describing_program.MOST_STEPS


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Ant-v2", "Ant-v2 needs a package that this arena does not have."),
        ("GymV21Environment-v0", "GymV21Environment-v0 needs a package that this arena does not have."),
        ("Nowhere-v0", "Gymnasium cannot make Nowhere-v0 on this arena."),
    ],
)
def test_what_cannot_be_made_is_refused_without_advice_for_organisers(name: str, sentence: str) -> None:
    with pytest.raises(NotDescribed) as refused:
        described(name, "gym-x")
    assert (str(refused.value), "pip" in str(refused.value)) == (sentence, False)
    assert refused.value.detail


def test_a_process_that_dies_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describing, "PROGRAM", "arena_kit.nowhere")
    with pytest.raises(NotDescribed, match="it ended the process that tried it"):
        described("CartPole-v0", "gym-x")


def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describing, "SECONDS", 0.0)
    with pytest.raises(NotDescribed, match="it takes more than 0 s to try"):
        described("CartPole-v0", "gym-x")


def test_what_cannot_say_what_is_registered_is_not_asked_at_once_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(registered_id: str, name: str) -> dict[str, list[str]]:
        asked.append(name)
        if len(asked) == 1:
            raise NotDescribed("it takes too long")
        return {"ids": ["Lake-v1", "os:Lake-v1", "Cart-v0"]}

    clock = iter([0.0, 0.0, 299.0, 300.0, 1e9])
    monkeypatch.setattr(describing, "_known", {})
    monkeypatch.setattr(describing, "_answer", answer)
    monkeypatch.setattr(describing, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert [registered_ids(), registered_ids()] == [(), ()]
    assert len(asked) == 1
    assert [registered_ids(), registered_ids()] == [("Cart-v0", "Lake-v1")] * 2
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("CartPole-v0", "gym-cart-pole-0"),
        ("ALE/Pong-v5", "gym-ale-pong-5"),
        ("FrozenLake8x8-v1", "gym-frozen-lake8x8-1"),
        ("Unversioned", "gym-unversioned"),
    ],
)
def test_a_slug_is_made_of_the_words_and_the_version(name: str, slug: str) -> None:
    assert kept_slug(name) == slug


@pytest.mark.parametrize("name", ["x" * 90 + "-v3", "A" * 45, "___-v1", "...", "ns/" + "b" * 60])
def test_every_slug_fits(name: str) -> None:
    for slug in (kept_slug(name), kept_slug(name, is_taken=True)):
        assert slug.startswith("gym-")
        assert len(slug) <= 50
        assert "--" not in slug
        assert slug.strip("-") == slug


def test_ids_with_the_same_words_get_slugs_of_their_own() -> None:
    assert kept_slug("Foo/Bar-v0") == kept_slug("FooBar-v0")
    assert kept_slug("Foo/Bar-v0", is_taken=True) != kept_slug("FooBar-v0", is_taken=True)


FILE = """\
slug: gym-lake-1
name: Lake
gymnasium: {id: FrozenLake8x8-v1}
observation: {shape: [1], dtype: int64, wire: int8}
action_count: 4
max_steps: 200
description: A lake.
"""


@pytest.fixture
def kept() -> Iterator[dict[str, str]]:
    """Files that are in no folder, by slug."""
    files = {
        "gym-lake-1": FILE,
        "gym-other": FILE,
        "gym-broken": "slug: [",
        "gym-code": FILE.replace("gymnasium", "gym"),
    }
    before = list(registry._sources)
    use_files(lambda slug: files.get(slug, ""))
    yield files
    registry._sources[:] = before


def test_a_kept_file_is_found_by_its_slug_and_by_the_id_of_its_rules(kept: dict[str, str]) -> None:
    assert get_spec("gym-lake-1") == get_spec("gym-lake-1-v1")
    assert environment_zip(get_spec("gym-lake-1")).startswith(b"PK")


def test_what_a_kept_file_names_is_played_in_a_process_of_its_own(kept: dict[str, str]) -> None:
    spec = get_spec("gym-lake-1")
    apart, here = spec.make(), spec.make_here()
    try:
        assert isinstance(apart, RemoteEnvironment)
        for environment in (apart, here):
            environment.reset(7)
        assert [apart.step({0: action}) for action in (1, 2)] == [here.step({0: action}) for action in (1, 2)]
        assert apart.observe(0).observation == here.observe(0).observation
        # As a package does that crashes.
        server_of(spec)._process.kill()
        with pytest.raises(BrokenEnvironment, match="its server has ended"):
            apart.step({0: 1})
    finally:
        close_servers()


@pytest.mark.parametrize(
    "name", ["gym-nowhere", "gym-other", "gym-broken", "gym-code", "gym-lake-1-v2", "FrozenLake8x8-v1"]
)
def test_other_names_and_broken_files_are_unknown(kept: dict[str, str], name: str) -> None:
    with pytest.raises(UnknownEnvironment):
        get_spec(name)


def test_a_text_must_be_about_an_environment_of_gymnasium() -> None:
    with pytest.raises(BadInfo):
        read_text("- a list", "it")


def test_a_probe_that_takes_too_long_is_on_the_safe_side() -> None:
    assert "new_each_episode" not in describe("CartPole-v0", {})["gymnasium"]
    assert describe("CartPole-v0", {}, probe_seconds=-1.0)["gymnasium"]["new_each_episode"] is True
