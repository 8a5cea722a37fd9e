from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from arena_kit.environment.info import FOLDER, BadInfo, read_info
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import all_specs, get_spec, read_folder

GOOD = yaml.safe_load((FOLDER / "tic_tac_toe" / "info.yml").read_text())


def info(folder: Path, text: str) -> Path:
    path = folder / "my_game" / "info.yml"
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_all_environments_are_found_in_the_order_of_their_slugs() -> None:
    slugs = [spec.slug for spec in all_specs()]
    assert slugs == sorted(slugs)
    assert [spec.slug for spec in all_specs() if spec.seats == 2] == ["connect-four", "pong", "quarto", "tic-tac-toe"]
    assert [spec.slug for spec in all_specs() if spec.seats == 1] == [
        "acrobot", "ant", "bipedal-walker", "blackjack", "cart-pole", "cliff-walking", "frozen-lake",
        "frozen-lake-deterministic", "half-cheetah", "hopper", "humanoid", "lunar-lander", "mountain-car", "pendulum",
        "taxi", "walker2d",
    ]  # fmt: skip
    assert all_specs() is all_specs()


@pytest.mark.parametrize("name", ["connect-four", "connect-four-v2"])
def test_a_slug_and_an_id_lead_to_the_same_spec(name: str) -> None:
    assert get_spec(name).name == "Connect Four"


@pytest.mark.parametrize("name", ["chess", "", "connect-four-v3", "../quarto"])
def test_an_unknown_name_is_answered_with_what_there_is(name: str) -> None:
    with pytest.raises(
        UnknownEnvironment, match="The environments are: acrobot, ant, .*, quarto, taxi, tic-tac-toe, walker2d"
    ):
        get_spec(name)


@pytest.mark.parametrize(
    ("slug", "shape", "action_count", "forfeit_score", "max_steps", "matches_per_duel"),
    [
        ("tic-tac-toe", (10,), 9, 1.0, 9, 1000),
        ("connect-four", (43,), 7, 1.0, 42, 500),
        ("quarto", (17,), 256, 100.0, 16, 1000),
    ],
)
def test_the_games_have_their_figures(
    slug: str, shape: tuple[int, ...], action_count: int, forfeit_score: float, max_steps: int, matches_per_duel: int
) -> None:
    spec = get_spec(slug)
    assert (spec.id, spec.seats, spec.observation.shape) == (f"{slug}-v2", 2, shape)
    assert (spec.action_count, spec.forfeit_score, spec.max_steps) == (action_count, forfeit_score, max_steps)
    assert (spec.matches_per_duel, spec.matches_per_validation) == (matches_per_duel, 50)
    assert (spec.limits.cpu_count, spec.limits.memory_limit_bytes) == (1.0, 1024**3)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"seats": "two"}, r"seats: must be a whole number, not 'two'"),
        ({"seats": True}, r"seats: must be a whole number"),
        ({"seats": 0}, r"seats: must be at least 1"),
        ({"seats": 1, "episodes_per_evaluation": 1}, r"episodes_per_evaluation: must be at least 2"),
        ({"name": 7}, r"name: must be text"),
        ({"slug": "My Game"}, r"slug: must be lower-case"),
        ({"sluug": "x"}, r"sluug: there is no such key"),
        ({"from_start": True}, r"from_start: there is no such key"),
        ({"matches_per_duel": 7}, r"matches_per_duel: must be even"),
        ({"isolation": "alone"}, r"isolation: must be shared or apart"),
        ({"forfeit_score": float("nan")}, r"forfeit_score: must be a finite number"),
        ({"image": "../secret.svg"}, r"image: must be the name of a file"),
        ({"renderer": "render.py"}, r"renderer: must be written module:name"),
        ({"deterministic": "yes"}, r"deterministic: must be true or false"),
        ({"observation": [10]}, r"observation must be a mapping"),
        ({"observation": {}}, r"observation: shape: this key is missing"),
        ({"observation": {"shape": 10}}, r"observation: shape: must be a list of whole numbers"),
        ({"observation": {"shape": [0]}}, r"observation.shape: must be sizes"),
        ({"observation": {"shape": [10], "wire": "int7"}}, r"observation.wire: must be one of int8"),
        ({"action_names": ["only", "two"]}, r"action_names: must be empty or 9 names"),
        ({"observation_names": "cells"}, r"observation_names: must be a list of texts"),
        ({"limits": {"move_second": 1}}, r"limits: move_second: there is no such key"),
        ({"limits": {"move_seconds": -1}}, r"limits.move_seconds: must be a finite number"),
    ],
)
def test_a_bad_value_is_named_with_its_file_and_key(tmp_path: Path, change: dict[str, object], complaint: str) -> None:
    with pytest.raises(BadInfo, match=rf"^my_game/info\.yml: {complaint}"):
        read_info(info(tmp_path, yaml.safe_dump({**GOOD, **change})))


@pytest.mark.parametrize("key", ["slug", "version", "description", "observation", "forfeit_score", "max_steps"])
def test_a_missing_key_is_named(tmp_path: Path, key: str) -> None:
    data = {name: value for name, value in GOOD.items() if name != key}
    with pytest.raises(BadInfo, match=rf"my_game/info.yml: {key}: this key is missing"):
        read_info(info(tmp_path, yaml.safe_dump(data)))


@pytest.mark.parametrize("text", ["", "- a list", "a: [", "just words", "!!python/object/apply:os.getpid []"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInfo, match=r"my_game/info\.yml"):
        read_info(info(tmp_path, text))


def test_two_environments_cannot_share_a_slug(tmp_path: Path) -> None:
    info(tmp_path, yaml.safe_dump(GOOD))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "info.yml").write_text(yaml.safe_dump(GOOD))
    with pytest.raises(BadInfo, match=r"other/info.yml: slug: another environment is called 'tic-tac-toe'"):
        read_folder(tmp_path)
