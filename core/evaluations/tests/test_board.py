"""Who stands where on a board that is ranked by score."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.cache import cache
from pytest_django import DjangoAssertNumQueries

from arena_kit.ranking.scores import paired_difference
from core.cache.answers import cached
from core.evaluations import board
from core.evaluations.board import BoardFilter, board_page, board_rank, environments_with_boards
from core.evaluations.comparison import compare
from core.evaluations.tests.boards import agents, evaluation, shown
from core.models import Environment, Evaluation, SeedList, SeedPurpose
from core.moderation.services import agent_disable, agent_enable
from core.submissions.existing import submission_delete
from core.tests import factories
from core.tests.factories import NOON, Cast

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def people() -> Cast:
    return factories.cast()


@pytest.fixture
def cart_pole() -> Environment:
    return factories.environment("cart-pole")


@pytest.fixture
def always_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that ask again after a change."""
    monkeypatch.setattr(board, "cached", lambda key, kind, compute: compute())


def places(environment: Environment, **filters: Any) -> list[tuple[str, int, str]]:
    page = board_page(environment, BoardFilter(**filters))
    return [(row.agent, row.rank, row.medal) for row in page.rows]


def test_equal_scores_share_a_rank_and_the_earlier_is_listed_first(people: Cast, cart_pole: Environment) -> None:
    for name, score, minutes in (("low", 1, 0), ("late", 5, 2), ("early", 5, 1), ("best", 9, 3)):
        evaluation(cart_pole, score, owner=people.alice, name=name, at=NOON + timedelta(minutes=minutes))

    assert places(cart_pole) == [
        ("best", 1, "gold"),
        ("early", 2, "silver"),
        ("late", 2, "silver"),
        ("low", 4, ""),
    ]


def test_of_equal_score_and_time_the_first_made_is_listed_first(people: Cast, cart_pole: Environment) -> None:
    for name in ("zoe", "adam", "mia"):
        evaluation(cart_pole, 5, owner=people.alice, name=name)
    assert places(cart_pole) == [("zoe", 1, "gold"), ("adam", 1, "gold"), ("mia", 1, "gold")]


def test_medals_are_given_where_every_score_is_negative(people: Cast, cart_pole: Environment) -> None:
    for name, score in (("a", -150.0), ("b", -900.0), ("c", -0.5)):
        evaluation(cart_pole, score, owner=people.alice, name=name)
    assert places(cart_pole) == [("c", 1, "gold"), ("a", 2, "silver"), ("b", 3, "bronze")]


def test_self_reported_scores_never_stand_above_verified_ones(people: Cast, cart_pole: Environment) -> None:
    evaluation(cart_pole, 1e9, owner=people.bob, name="boast", is_verified=False)
    evaluation(cart_pole, 3, owner=people.alice, name="honest")
    assert places(cart_pole) == [("honest", 1, "gold"), ("boast", 2, "")]


def test_self_reported_scores_earn_medals_without_a_verified_one(people: Cast, cart_pole: Environment) -> None:
    evaluation(cart_pole, 2, owner=people.bob, name="second", is_verified=False)
    evaluation(cart_pole, 7, owner=people.bob, name="first", is_verified=False)
    assert places(cart_pole) == [("first", 1, "gold"), ("second", 2, "silver")]


def test_ranks_and_medals_are_those_of_the_whole_board_on_every_page_filter_and_order(
    people: Cast, cart_pole: Environment
) -> None:
    for number in range(1, 9):
        evaluation(
            cart_pole, 10 * (number // 2), owner=people.alice, name=f"n{number}", at=NOON + timedelta(hours=number)
        )
    evaluation(cart_pole, 99, owner=people.bob, name="script", is_verified=False)
    ranks = {"n8": 1, "n6": 2, "n7": 2, "n4": 4, "n5": 4, "n2": 6, "n3": 6, "n1": 8, "script": 9}
    medals = {"n8": "gold", "n6": "silver", "n7": "silver"}
    expected = {(name, rank, medals.get(name, "")) for name, rank in ranks.items()}

    by_page = [board_page(cart_pole, BoardFilter(), offset=offset, limit=2) for offset in range(0, 10, 2)]
    assert [row.agent for page in by_page for row in page.rows] == list(ranks)
    assert {(row.agent, row.rank, row.medal) for page in by_page for row in page.rows} == expected
    assert {page.total for page in by_page} == {9}
    for filters in ({"sort": "date_desc"}, {"sort": "date_asc"}):
        assert set(places(cart_pole, **filters)) == expected
    assert places(cart_pole, score_max=25) == [
        ("n4", 4, ""),
        ("n5", 4, ""),
        ("n2", 6, ""),
        ("n3", 6, ""),
        ("n1", 8, ""),
    ]
    assert places(cart_pole, verified=False) == [("script", 9, "")]


def test_who_is_barred_or_replaced_is_not_on_the_board(
    people: Cast, cart_pole: Environment, always_computed: None
) -> None:
    kept = evaluation(cart_pole, 1, owner=people.alice, name="kept")
    disabled = evaluation(cart_pole, 9, owner=people.alice, name="disabled")
    deleted = evaluation(cart_pole, 8, owner=people.alice, name="deleted")
    locked_out = evaluation(cart_pole, 7, owner=people.charlie, name="locked-out")
    replaced = evaluation(cart_pole, 6, owner=people.alice, name="replaced", is_current=False)
    evaluation(factories.environment("frozen-lake"), 5, owner=people.alice, name="elsewhere")
    agent_disable(agent=disabled.agent, reason="cheats")
    submission_delete(submission=deleted.submission)
    people.charlie.is_active = False
    people.charlie.save()

    assert places(cart_pole) == [("kept", 1, "gold")]
    assert board_rank(kept) == 1
    assert [board_rank(row) for row in (disabled, deleted, locked_out, replaced)] == [None] * 4
    agent_enable(agent=disabled.agent)
    assert places(cart_pole) == [("disabled", 1, "gold"), ("kept", 2, "silver")]


def test_the_rank_of_one_evaluation_is_that_of_its_row(people: Cast, cart_pole: Environment) -> None:
    rows = [evaluation(cart_pole, score, owner=people.alice) for score in (3, 5, 5, 1)]
    rows.append(evaluation(cart_pole, 50, owner=people.alice, is_verified=False))
    assert [board_rank(row) for row in rows] == [3, 1, 1, 4, 5]


@pytest.fixture
def mixed(people: Cast, cart_pole: Environment) -> Environment:
    """One agent for everything that can be filtered by."""
    day = datetime(2026, 5, 10, tzinfo=UTC)
    make = partial(evaluation, cart_pole)
    make(10, owner=people.alice, name="first-minute", algorithm="Deep Q", at=day)
    make(20, owner=people.alice, name="last-minute", algorithm="deep sarsa", at=day + timedelta(hours=23, minutes=59))
    make(30, owner=people.bob, name="next-day", algorithm="100%_sure", at=day + timedelta(days=1))
    make(40, owner=people.olga, name="label", algorithm="'; --", user_label="Alice\\ in W", is_verified=False, at=NOON)
    return cart_pole


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["next-day", "last-minute", "first-minute", "label"]),
        ({"sort": "date_desc"}, ["next-day", "last-minute", "first-minute", "label"]),
        ({"sort": "date_asc"}, ["label", "first-minute", "last-minute", "next-day"]),
        ({"sort": "no such order"}, ["next-day", "last-minute", "first-minute", "label"]),
        ({"user": "LIC"}, ["last-minute", "first-minute", "label"]),
        ({"user": "olga"}, []),  # what an anonymous client calls itself is shown, so it is searched
        ({"user": "\\"}, ["label"]),
        ({"algorithm": "DEEP"}, ["last-minute", "first-minute"]),
        ({"algorithm": "%"}, ["next-day"]),
        ({"algorithm": "_"}, ["next-day"]),
        ({"algorithm": "';"}, ["label"]),
        ({"algorithm": '"'}, []),
        ({"score_min": 20}, ["next-day", "last-minute", "label"]),
        ({"score_max": 20}, ["last-minute", "first-minute"]),
        ({"score_min": 20.0, "score_max": 20.0}, ["last-minute"]),
        ({"score_min": 21, "score_max": 19}, []),
        ({"date_from": date(2026, 5, 10), "date_to": date(2026, 5, 10)}, ["last-minute", "first-minute"]),
        ({"date_from": date(2026, 5, 11)}, ["next-day"]),
        ({"date_to": date(2026, 5, 10)}, ["last-minute", "first-minute", "label"]),
        ({"verified": True}, ["next-day", "last-minute", "first-minute"]),
        ({"verified": False}, ["label"]),
        ({"user": "alice", "algorithm": "q", "score_max": 40, "date_from": date(2026, 5, 1)}, ["first-minute"]),
        ({"user": "alice", "verified": False, "sort": "date_desc"}, ["label"]),
    ],
)
def test_filters_let_through(mixed: Environment, filters: dict[str, Any], expected: list[str]) -> None:
    assert shown(mixed, **filters) == expected
    assert board_page(mixed, BoardFilter(**filters)).total == len(expected)


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"user": "a\0b"}, 0),
        ({"algorithm": "\0"}, 0),
        ({"id_query": "\udc80"}, 0),
        ({"user": "x" * 100_000}, 0),
        ({"id_query": "' OR 1=1 --"}, 0),
        ({"id_query": "%"}, 0),
        ({"id_query": "-"}, 4),
        ({"algorithm": "Ä\u202e☃"}, 0),
        ({"score_min": math.nan}, 0),
        ({"score_max": math.nan}, 0),
        ({"score_min": math.inf}, 0),
        ({"score_min": -math.inf, "score_max": math.inf}, 4),
        ({"score_min": 10**400}, 0),
        ({"score_min": -(10**400), "score_max": 10**400}, 4),
        ({"score_max": 1e308}, 4),
        ({"date_from": date.min, "date_to": date.max}, 4),
        ({"date_from": date.max}, 0),
        ({"date_to": date.min}, 0),
    ],
)
def test_hostile_filters_are_answered(mixed: Environment, filters: dict[str, Any], count: int) -> None:
    assert board_page(mixed, BoardFilter(**filters)).total == count


@pytest.mark.parametrize(
    ("offset", "limit", "count"), [(-5, 2, 2), (0, -1, 0), (10**30, 50, 0), (3, 10**30, 1), (4, 5, 0)]
)
def test_any_part_of_a_board_can_be_asked_for(mixed: Environment, offset: int, limit: int, count: int) -> None:
    page = board_page(mixed, BoardFilter(), offset=offset, limit=limit)
    assert (len(page.rows), page.total) == (count, 4)


def test_ids_are_found_however_they_are_copied(people: Cast, cart_pole: Environment) -> None:
    row = evaluation(cart_pole, 1, owner=people.alice, name="found")
    evaluation(cart_pole, 2, owner=people.alice, name="other")
    public_id = row.submission.public_id
    for text in (str(public_id), public_id.hex, str(public_id).upper(), str(public_id)[3:20], public_id.hex[5:25]):
        assert shown(cart_pole, id_query=text) == ["found"], text


def test_the_difference_to_the_row_above_is_that_of_their_episodes(people: Cast, cart_pole: Environment) -> None:
    above, below = [9.0, 8.0, 7.0, 9.5], [1.0, 2.0, 3.0, 2.5]
    evaluation(cart_pole, 9, owner=people.alice, name="above", scores=above)
    evaluation(cart_pole, 2, owner=people.alice, name="below", scores=below)
    old_seeds = SeedList.objects.create(environment=cart_pole, purpose=SeedPurpose.RANKING, seeds=[1], sha256="0" * 64)
    evaluation(cart_pole, 1, owner=people.alice, name="other-seeds", scores=[1.0], seed_list=old_seeds)
    evaluation(cart_pole, 0, owner=people.alice, name="script", is_verified=False)
    expected = paired_difference(below, above)

    differences = {row.agent: row.difference for row in board_page(cart_pole, BoardFilter()).rows}
    assert differences == {"above": None, "below": expected, "other-seeds": None, "script": None}
    second_page = board_page(cart_pole, BoardFilter(), offset=1, limit=1)
    assert [(row.agent, row.difference) for row in second_page.rows] == [("below", expected)]


@pytest.mark.parametrize("filters", [{}, {"user": "a", "sort": "date_asc"}, {"verified": False}])
def test_a_page_costs_the_same_queries_however_long_it_is(
    people: Cast,
    cart_pole: Environment,
    filters: dict[str, Any],
    always_computed: None,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(12):
        evaluation(cart_pole, number, owner=people.alice, is_verified=number % 3 > 0, scores=[number, 2 * number])
    for limit in (2, 12):
        with django_assert_max_num_queries(5):
            assert board_page(cart_pole, BoardFilter(**filters), limit=limit).rows


def test_a_result_shows_a_second_later_and_the_board_is_kept_until_then(
    people: Cast, cart_pole: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(board, "cached", partial(cached, clock=lambda: now[0]))
    first = evaluation(cart_pole, 1, owner=people.alice, name="first")
    assert (shown(cart_pole), board_rank(first)) == (["first"], 1)

    evaluation(cart_pole, 2, owner=people.alice, name="second")
    now[0] += 0.7
    assert (shown(cart_pole), board_rank(first)) == (["first"], 1)
    now[0] += 0.3
    assert (shown(cart_pole), board_rank(first)) == (["second", "first"], 2)


def test_a_flushed_cache_changes_no_answer(people: Cast, cart_pole: Environment) -> None:
    evaluation(cart_pole, 1, owner=people.alice, scores=[1.0, 2.0])
    evaluation(cart_pole, 3, owner=people.bob, scores=[3.0, 2.5])
    before = board_page(cart_pole, BoardFilter())
    kept = board_page(cart_pole, BoardFilter())
    cache.clear()
    assert board_page(cart_pole, BoardFilter()) == kept == before


def test_boards_are_those_of_active_environments_with_one_seat(cart_pole: Environment) -> None:
    factories.environment("tic-tac-toe")
    lake = factories.environment("frozen-lake")
    assert environments_with_boards(AnonymousUser()) == sorted([cart_pole, lake], key=str)
    lake.is_active = False
    lake.save()
    assert environments_with_boards(AnonymousUser()) == [cart_pole]


def test_submissions_are_compared_on_common_seeds(people: Cast, cart_pole: Environment) -> None:
    one, two = [1.0, 5.0, 3.0], [2.0, 2.0, 2.0]
    rows = [
        evaluation(cart_pole, 3, owner=people.alice, scores=one),
        evaluation(cart_pole, 4, owner=people.bob, is_verified=False),
        evaluation(cart_pole, 2, owner=people.charlie, scores=two, is_current=False),
    ]
    compared = compare(cart_pole, [row.submission.public_id for row in rows])

    assert compared.evaluations == tuple(rows)
    forth, back = paired_difference(one, two), paired_difference(two, one)
    gaps = [[found and found.difference for found in row] for row in compared.differences]
    assert gaps == [[None, None, forth], [None, None, None], [back, None, None]]


def test_at_most_four_known_submissions_are_compared_each_once_in_the_order_asked_for(
    people: Cast, cart_pole: Environment
) -> None:
    rows = [evaluation(cart_pole, score, owner=people.alice) for score in range(5)]
    ids = [row.submission.public_id for row in rows]
    assert compare(cart_pole, [ids[3], uuid4(), ids[1], ids[3], ids[0]]).evaluations == (rows[3], rows[1], rows[0])
    assert compare(cart_pole, ids).evaluations == tuple(rows[:4])
    assert compare(factories.environment("frozen-lake"), ids).evaluations == ()
    assert compare(cart_pole, []).evaluations == ()


def test_of_a_submission_its_latest_finished_evaluation_is_compared(people: Cast, cart_pole: Environment) -> None:
    old = evaluation(cart_pole, 1, owner=people.alice, is_current=False)
    new = Evaluation.objects.get(pk=old.pk)
    new.pk, new.score, new._state.adding = None, 2.0, True
    new.save()
    assert compare(cart_pole, [old.submission.public_id]).evaluations == (new,)
    agent_disable(agent=old.agent, reason="cheats")
    assert compare(cart_pole, [old.submission.public_id]).evaluations == ()


def test_pages_are_listed_without_gap_or_overlap(people: Cast, cart_pole: Environment) -> None:
    for number in range(7):
        evaluation(cart_pole, number % 3, owner=people.alice)
    whole = agents(board_page(cart_pole, BoardFilter()))
    parts = [
        name for offset in range(7) for name in agents(board_page(cart_pole, BoardFilter(), offset=offset, limit=1))
    ]
    assert parts == whole
