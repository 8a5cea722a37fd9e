from __future__ import annotations

import pytest

from arena_kit.environment.registry import get_spec


def drawn(slug: str, *actions: int, seed: int = 1) -> str:
    spec = get_spec(slug)
    environment = spec.make()
    environment.reset(seed)
    for action in actions:
        environment.step({0: action})
    return spec.render(environment.frame())


@pytest.mark.parametrize(
    ("slug", "tiles", "where"),
    [
        ("frozen-lake-deterministic", 16, "row 1, column 1"),
        ("cliff-walking", 48, "row 4, column 1"),
        ("taxi", 25, "The passenger "),
    ],
)
def test_worlds_of_squares_are_drawn_as_tiles(slug: str, tiles: int, where: str) -> None:
    picture = drawn(slug)

    assert picture.count('rx="5"') == tiles
    assert where in picture
    assert "<text" in picture


def test_a_frame_of_a_replay_is_drawn_as_well() -> None:
    spec = get_spec("frozen-lake")

    picture = spec.render({"text": "SFFF\nFHF@", "action": "right", "step": 3, "return": 0.0, "over": True})

    assert picture.count('rx="5"') == 8
    assert "row 2, column 4" in picture


def test_on_a_lake_holes_are_dark_and_the_player_moves() -> None:
    start, right = drawn("frozen-lake-deterministic"), drawn("frozen-lake-deterministic", 2)

    assert start.count('class="ink" cx') == right.count('class="ink" cx') == 4
    assert "row 1, column 2" in right
    assert ">start<" in right
