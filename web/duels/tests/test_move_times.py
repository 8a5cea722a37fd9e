"""The time of every move on the page of a match: bars, the slowest moves, and the list of moves."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from pytest_django.asserts import assertContains

from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay_file.views import frame_views
from web.duels.time_parts import HEIGHT, TimesView, in_words, times_view
from web.tests.arena import Stage
from web.tests.played import random_match

NAMES = ("ann v1", "bob v1")
GAME = get_spec("tic-tac-toe-v1")
MATCH = replace(random_match(GAME, 1, 7), move_ms=None)


def view(person: int | None = None, **changes: Any) -> TimesView | None:
    return times_view(frame_views(GAME, replace(MATCH, **changes), NAMES), NAMES, person=person)


@pytest.mark.django_db
def test_the_page_of_a_match_shows_bars_the_slowest_moves_and_a_time_for_each(client: Client, stage: Stage) -> None:
    page = f"/duels/{stage.duel.pk}/matches/1/"
    shown = client.get(page)
    assertContains(shown, "Time per move")
    assertContains(shown, "The slowest moves")
    content = shown.content.decode()
    # Player 1 made no long move; those of player 2 are longer from move to move.
    assert re.search(r'<span class="took muted">under 1 ms</span><span>[^<]*anna v1 played', content)
    assert re.search(r'<span class="took muted">20 ms</span><span>[^<]*berta v1 played', content)
    frames = client.get(f"{page}frames.json").json()["frames"]
    assert [frame["move_ms"] for frame in frames[:3]] == [[], [0], [20]]
    assert client.get(f"/api/v1/duels/{stage.duel.pk}/matches/1/").json()["move_ms"][0] == []


def test_bars_are_as_high_as_the_times_and_stand_under_their_moves() -> None:
    found = view(move_ms=((100, 0), (50,)))
    assert found is not None
    heights = [float(value) for value in re.findall(r"v-([\d.]+)h", found.bars[0])]
    assert heights[0] == HEIGHT
    assert 0 < min(heights) < 2
    places = [float(value) for value in re.findall(r"M([\d.]+) ", found.bars[1])]
    assert all(found.step < place < 2 * found.step for place in places[:1])
    assert [(time.ply, time.took) for time in found.slowest] == [(1, "100 ms"), (2, "50 ms")]
    assert found.by_ply[:3] == ("", "100 ms", "50 ms")


def test_records_of_before_and_matches_of_quick_moves_have_no_bars() -> None:
    assert view() is None
    quick = view(move_ms=((), ()))
    assert quick is not None
    assert (quick.slowest, set(quick.by_ply)) == ((), {""})


def test_a_person_has_no_times_and_neither_has_an_opening() -> None:
    found = view(move_ms=((), (50,)), person=0, opening_count=1)
    assert found is not None
    assert found.bars[0] == ""
    assert found.by_ply[:3] == ("", "", "50 ms")
    only = view(move_ms=((70,), ()), opening_count=1)
    assert only is not None
    assert (only.by_ply[1], only.slowest[0].ply) == ("", 3)


@pytest.mark.parametrize(("took", "words"), [(0, "under 1 ms"), (1, "1 ms"), (999, "999 ms"), (2350, "2.35 s")])
def test_times_have_a_unit(took: int, words: str) -> None:
    assert in_words(took) == words
