"""A leaderboard as `arena board` prints it."""

from __future__ import annotations

from arena_kit.cli.board import board_text
from arena_kit.client.answers import Board, RankedRow


def rows(*, is_scored: bool) -> str:
    places = (
        RankedRow(1, "deep", 2, "ann", 1404.4, 1380.0, 1428.8),
        RankedRow(2, "random", 1, "arena", 1000, 1000, 1000),
    )
    return board_text(Board("tic-tac-toe", is_scored, 2, places, {}))


def test_the_interval_of_the_reference_is_fixed_as_on_the_pages() -> None:
    deep, random = rows(is_scored=False).splitlines()[1:3]
    assert deep.endswith("1404.4  1380.0 to 1428.8")
    assert random.endswith("1000.0  fixed")


def test_a_score_that_does_not_vary_has_an_interval_of_no_length() -> None:
    assert rows(is_scored=True).splitlines()[2].endswith("1000.0 to 1000.0")
