"""Which duel the home page plays."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from core.duels.featured import featured_get
from core.models import Duel, JobState, Rating, Submission
from core.tests import factories
from core.tests.factories import Cast

pytestmark = pytest.mark.django_db
WEAK, MIDDLE, STRONG = 1000, 1500, 1800


@pytest.fixture
def four(people: Cast) -> list[Submission]:
    """Four players of an edition; the duels between them can be watched and are all 10 to 0."""
    environment = factories.environment()
    rows = [factories.ready(factories.agent(people.alice, environment, name)) for name in ("a", "b", "c", "d")]
    factories.tournament(rows)
    Duel.objects.update(records="records.zip")
    return rows


def rated(four: list[Submission], *values: float) -> None:
    for player, value in zip(four, values, strict=True):
        factories.rating(player, value)


def between(first: Submission, second: Submission, **fields: object) -> Duel:
    row = Duel.objects.get(player_1=first, player_2=second)
    Duel.objects.filter(pk=row.pk).update(**fields)
    return row


def test_two_strong_players_are_shown_and_not_two_weak_ones_that_come_closer(four: list[Submission]) -> None:
    rated(four, WEAK, WEAK, STRONG, STRONG)
    between(four[0], four[1], player_1_wins=5, player_2_wins=5)
    assert featured_get().films[0].duel == between(four[2], four[3])


def test_a_strong_player_against_a_weak_one_is_as_weak_as_the_weaker(four: list[Submission]) -> None:
    rated(four, STRONG, WEAK, MIDDLE, MIDDLE)
    assert featured_get().films[0].duel == Duel.objects.filter(player_1=four[2]).get()


def test_among_equals_a_close_duel_is_shown_then_a_surprise_then_the_newest(four: list[Submission]) -> None:
    rated(four, MIDDLE, MIDDLE, MIDDLE, MIDDLE)
    assert featured_get().films[0].duel == Duel.objects.order_by("-pk").first()
    upset = between(four[0], four[2], expected=0.2)
    assert featured_get().films[0].duel == upset
    close = between(four[0], four[1], player_1_wins=5, player_2_wins=5)
    assert featured_get().films[0].duel == close


def test_a_match_that_was_forfeited_is_not_shown_and_players_without_a_rating_count_as_weak(
    four: list[Submission], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    rated(four, WEAK, MIDDLE, STRONG, STRONG)
    between(four[2], four[3], player_1_wins=9, player_2_errors=1)
    second = Duel.objects.filter(player_1=four[1], player_2=four[3]).get()
    with django_assert_num_queries(2):
        assert featured_get().films[0].duel == second
    Rating.objects.filter(submission=four[3]).delete()
    assert featured_get().films[0].duel == Duel.objects.filter(player_1=four[1], player_2=four[2]).get()


def closest() -> list[Duel]:
    return [one.duel for one in featured_get().duels if one.why == "Closest duel"]


def test_the_closest_duel_is_one_of_players_in_the_upper_half_or_none(four: list[Submission]) -> None:
    rated(four, WEAK, WEAK, STRONG, STRONG)
    between(four[0], four[1], player_1_wins=5, player_2_wins=5)
    assert closest() == [], "all others are 10 to 0"
    near = between(four[2], four[3], player_1_wins=6, player_2_wins=4)
    # That of the weak is nearer still.
    assert closest() == [near]
    between(four[2], four[3], player_1_wins=7, player_2_wins=3)
    assert closest() == []
    Rating.objects.all().delete()
    assert closest() == []


def test_the_match_that_is_played_is_the_first_that_is_analysed(four: list[Submission]) -> None:
    rated(four, MIDDLE, MIDDLE, MIDDLE, MIDDLE)
    newest = Duel.objects.latest("pk")
    assert featured_get().films[0].number == 1
    factories.analysis(newest, 7)
    factories.analysis(newest, 4)
    factories.analysis(newest, 2, JobState.QUEUED)
    assert [film.number for film in featured_get().films if film.duel == newest] == [4]
