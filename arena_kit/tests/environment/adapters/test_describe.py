"""The command that writes the file of an environment of Gymnasium."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena_kit.environment.adapters.describe import main
from arena_kit.environment.adapters.ids import slug
from arena_kit.environment.conformance import check_environment
from arena_kit.environment.info import read_info

pytestmark = pytest.mark.usefixtures("odd_environments")


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCarContinuous-v0", "FrozenLake8x8-v1", "Odd/Dials-v0"])
def test_what_it_writes_is_an_environment_of_the_arena(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([name])
    path = tmp_path / "own.yml"
    path.write_text(capsys.readouterr().out)
    spec = read_info(path)
    assert spec.public_id == name
    assert "| what | values |" in spec.description
    check_environment(spec, matches=2)


def test_arguments_reach_the_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["FrozenLake-v1", "--arguments", '{"map_name": "8x8"}', "--max-steps", "300"])
    path = tmp_path / "lake.yml"
    path.write_text(capsys.readouterr().out)
    spec = read_info(path)
    assert spec.gymnasium is not None
    assert (spec.gymnasium.arguments, spec.max_steps) == ({"map_name": "8x8"}, 300)
    environment = spec.make()
    environment.reset(0)
    assert len(environment.frame()["text"].splitlines()) == 8


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["Odd/Words-v0"], "cannot be played here. Observations of the space Text.* have no fixed number of values"),
        (["Odd/TwoAtOnce-v0"], "cannot be played here. Actions of the space Tuple"),
        (["Odd/Endless-v0"], "has no step limit for Odd/Endless-v0. Give one with --max-steps"),
        (["Nowhere-v0"], "cannot make Nowhere-v0"),
        (
            ["no_such_module:Name-v0"],
            "needs the module `no_such_module`, which is not installed here. Install what provides it.",
        ),
    ],
)
def test_what_cannot_be_used_is_answered_with_a_sentence(arguments: list[str], complaint: str) -> None:
    with pytest.raises(SystemExit, match=complaint):
        main(arguments)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CartPole-v1", "cart-pole"),
        ("ALE/Pong-v5", "ale-pong"),
        ("my_package:FooBar-v0", "foo-bar"),
        ("Walker2d-v5", "walker2d"),
        ("FrozenLake8x8-v1", "frozen-lake8x8"),
        ("my_package:FooBar", "foo-bar"),
        ("Multi-view-v2", "multi-view"),
    ],
)
def test_slugs_are_made_of_the_words_of_a_name(name: str, expected: str) -> None:
    assert slug(name) == expected
