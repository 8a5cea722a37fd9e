"""Whose duels count for ratings, who has a rank, and what happens when ratings cannot be computed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from arena_kit.ranking.rating import POOL, Seating, pool_of
from core.editions import fits, lens
from core.editions.fits import FIT_EVERY, compute, ratings_are_outdated, ratings_refresh
from core.editions.follow import follow, rebuild
from core.editions.history import history_refresh
from core.editions.results import rated
from core.editions.services import advance, ratings_at_end, start_now
from core.editions.tests.samples import LATER, edition, finished_edition, play, play_all, table
from core.models import (
    Alarm,
    Audience,
    Environment,
    LedgerChange,
    Lens,
    Rating,
    RatingPoint,
    RatingPool,
    Tournament,
    TournamentState,
)
from core.ratings.ledger import ledger_change
from core.tests import factories
from core.tournaments.strikes import duel_void

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


def ranks() -> dict[int, int | None]:
    return dict(Rating.objects.values_list("submission", "rank"))


def too_many(*_: object, **__: object) -> int:
    raise MemoryError("too many versions")


def values() -> dict[int, float]:
    return dict(Rating.objects.values_list("submission", "value"))


def test_results_that_do_not_count_ask_for_no_look_at_all_submissions(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished_edition(environment)
    hidden = start_now(environment)
    Tournament.objects.filter(pk=hidden.pk).update(results=Audience.HIDDEN)
    advance(environment, now=LATER)
    asked, ranked = [], fits._ranked

    def look(one: Environment) -> set[int]:
        asked.append(one)
        return ranked(one)

    monkeypatch.setattr(fits, "_ranked", look)
    for duel in hidden.duels.order_by("pk")[:2]:
        play(duel)
        advance(environment, now=LATER)
    assert asked == []
    # Versions that were benched meanwhile lose their rank after the pause all the same.
    advance(environment, now=LATER + FIT_EVERY)
    assert asked == [environment]


@pytest.mark.parametrize(
    ("left_out", "counts"),
    [
        ({"is_rated": False}, {"is_rated": True}),
        ({"results": Audience.HIDDEN}, {"results": Audience.PUBLIC}),
        ({"results": Audience.PARTICIPANTS}, {"results": Audience.PUBLIC}),
    ],
)
def test_what_is_not_rated_or_held_back_has_a_table_and_counts_for_ratings_once_it_is_released(
    environment: Environment, left_out: dict[str, object], counts: dict[str, object]
) -> None:
    first, (one, two, three) = finished_edition(environment)
    Tournament.objects.update(**left_out)
    rebuild(environment)
    assert not edition(environment).counts_for_ratings
    assert ratings_are_outdated(environment)
    advance(environment, now=LATER)
    assert not Rating.objects.exists()
    assert [row[1:] for row in table(first)] == [(1, 4), (2, 2), (3, 0)]

    Tournament.objects.update(**counts)
    ledger_change(environment_id=environment.pk, kind=LedgerChange.Kind.RELEASE, tournament=first)
    assert edition(environment).counts_for_ratings
    advance(environment, now=LATER)
    assert ranks() == {one.pk: 1, two.pk: 2, three.pk: 3}
    assert not ratings_are_outdated(environment)


def test_as_many_duels_as_before_of_another_tournament_are_noticed(environment: Environment) -> None:
    first, _ = finished_edition(environment)
    play_all(start_now(environment))
    Tournament.objects.filter(edition=2).update(results=Audience.HIDDEN)
    rebuild(environment)
    advance(environment, now=LATER)
    assert (RatingPool.objects.get().duel_count, ratings_are_outdated(environment)) == (3, False)
    Tournament.objects.filter(edition=2).update(results=Audience.PUBLIC)
    Tournament.objects.filter(pk=first.pk).update(results=Audience.HIDDEN)
    rebuild(environment)
    assert ratings_are_outdated(environment)


def test_a_benched_version_leaves_its_rank_to_the_one_before(environment: Environment) -> None:
    _, (one, two, three) = finished_edition(environment)
    newer = factories.ready(three.agent)
    advance(environment, now=LATER)
    play_all(edition(environment))
    advance(environment, now=LATER)
    assert ranks() == {one.pk: 1, two.pk: 2, three.pk: None, newer.pk: 3}

    newer.is_benched = True
    newer.save()
    advance(environment, now=LATER + FIT_EVERY)
    assert ranks() == {one.pk: 1, two.pk: 2, three.pk: 3, newer.pk: None}


def test_who_has_a_rank_is_looked_at_again_after_a_pause_and_a_struck_duel_at_once(environment: Environment) -> None:
    tournament, (one, two, three) = finished_edition(environment)
    # The pause is twenty times as long as the fit took.
    RatingPool.objects.update(fit_seconds=3)
    fitted_at = RatingPool.objects.get().fitted_at
    one.is_benched = True
    one.save()
    advance(environment, now=fitted_at + timedelta(seconds=59))
    assert ranks()[one.pk] == 1
    advance(environment, now=fitted_at + timedelta(seconds=60))
    assert ranks() == {one.pk: None, two.pk: 1, three.pk: 2}

    duel_void(duel=tournament.duels.get(player_1=two, player_2=three), reason="The clock was wrong.", user=None)
    advance(environment, now=RatingPool.objects.get().fitted_at)
    assert RatingPool.objects.get().duel_count == 2


def test_after_a_long_fit_the_next_one_waits_longer(environment: Environment) -> None:
    finished_edition(environment)
    RatingPool.objects.update(fit_seconds=30)
    fitted_at = RatingPool.objects.get().fitted_at
    play_all(start_now(environment).duels.all()[0].its_tournament)
    Tournament.objects.filter(edition=2).update(is_automatic=False)
    advance(environment, now=fitted_at + timedelta(minutes=9))
    assert RatingPool.objects.get().duel_count == 3
    advance(environment, now=fitted_at + timedelta(minutes=11))
    assert RatingPool.objects.get().duel_count == 6


def test_an_edition_ends_and_the_next_begins_though_ratings_cannot_be_computed(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(fits, "ratings_refresh", too_many)
        tournament, (one, *_) = finished_edition(environment)
        factories.ready(one.agent)
        advance(environment, now=LATER)
    assert tournament.state == TournamentState.FINISHED
    assert edition(environment).edition == 2
    alarm = Alarm.objects.get()
    assert (alarm.key, alarm.settled_at) == ("ratings-of-tic-tac-toe", None)
    assert not Rating.objects.exists()

    advance(environment, now=LATER)
    assert Rating.objects.count() == 3
    alarm.refresh_from_db()
    assert alarm.settled_at is not None


def test_a_lens_that_fails_raises_no_alarm_about_ratings_and_follows_them_later(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[Environment] = []

    def fail(environment: Environment) -> None:
        tries.append(environment)
        raise ArithmeticError("no equilibrium")

    with monkeypatch.context() as patch:
        patch.setattr(lens, "lens_refresh", fail)
        tournament, (one, two, _) = finished_edition(environment)
        for _ in range(2):
            advance(environment, now=LATER)
        assert len(tries) == 1, "not at every step"
        assert [alarm.key for alarm in Alarm.objects.all()] == ["lens-of-tic-tac-toe"]
        duel_void(duel=tournament.duels.get(player_1=one, player_2=two), reason="The clock was wrong.", user=None)
        follow(environment)
        assert fits.ratings_follow(environment, now=LATER), "they were fitted all the same"
    assert not Lens.objects.exists()
    Alarm.objects.update(settled_at=LATER)
    advance(environment, now=LATER)
    fitted_at = RatingPool.objects.get().fitted_at
    assert Lens.objects.get().computed_at == fitted_at

    # A worker died between a fit and its lens.
    Lens.objects.update(computed_at=fitted_at - timedelta(minutes=1), pair_count=99)
    advance(environment, now=LATER)
    assert Lens.objects.get().pair_count == 2


def test_the_alarm_of_ratings_is_settled_once_they_tell_of_all_duels_without_a_fit(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament, _ = finished_edition(environment)
    with monkeypatch.context() as patch:
        patch.setattr(fits, "ratings_refresh", too_many)
        ratings_at_end(tournament)
    assert Alarm.objects.get().settled_at is None
    advance(environment, now=RatingPool.objects.get().fitted_at)
    assert Alarm.objects.get().settled_at is not None


def test_after_a_fit_that_failed_the_next_try_waits_too(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[Environment] = []

    def fail(environment: Environment, **_: object) -> int:
        tries.append(environment)
        raise MemoryError("too many versions")

    tournament, (one, two, _) = finished_edition(environment)
    monkeypatch.setattr(fits, "ratings_refresh", fail)
    duel_void(duel=tournament.duels.get(player_1=one, player_2=two), reason="The clock was wrong.", user=None)
    for _ in range(3):
        advance(environment, now=RatingPool.objects.get().fitted_at)
    assert len(tries) == 1
    advance(environment, now=LATER)
    assert len(tries) == 2


def test_an_edition_ends_with_a_moment_of_the_history(environment: Environment) -> None:
    tournament, rows = finished_edition(environment)
    advance(environment, now=LATER)
    points = RatingPoint.objects.order_by("rank")
    assert [point.submission_id for point in points] == [row.pk for row in rows]
    kept = dict(tournament.participants.values_list("submission", "rating"))
    assert {point.submission_id: point.value for point in points} == kept == values()
    assert len({point.at for point in points}) == 1


def test_what_the_ledger_held_at_a_moment_gives_the_ratings_of_then(environment: Environment) -> None:
    first, (one, two, three) = finished_edition(environment)
    then, ratings, pool = RatingPool.objects.get().fitted_at, values(), RatingPool.objects.get()
    newer = factories.ready(one.agent)
    advance(environment, now=LATER)
    play_all(edition(environment))
    duel_void(duel=first.duels.get(player_1=one, player_2=two), reason="The clock was wrong.", user=None)
    advance(environment, now=LATER)
    assert newer.pk in values()
    assert rated(environment).count() == 2 * 5

    found = compute(environment, at=then)
    assert {row.submission_id: row.value for row in found.ratings} == ratings
    assert {row.submission_id: row.rank for row in found.ratings} == {
        row.pk: n for n, row in enumerate([one, two, three], 1)
    }
    assert (found.pool.duel_count, found.pool.first_seat) == (pool.duel_count, pool.first_seat)
    assert not compute(environment, at=datetime(2020, 1, 1, tzinfo=UTC)).ratings


def test_a_history_that_is_computed_anew_keeps_who_had_played_by_then(environment: Environment) -> None:
    _, (one, *_) = finished_edition(environment)
    at = RatingPoint.objects.latest("at").at
    newcomer = factories.ready(factories.agent(one.agent.owner, environment))
    factories.rating_point(newcomer, at)
    before = list(RatingPoint.objects.exclude(submission=newcomer).order_by("pk").values())
    assert history_refresh(environment) == 1
    assert list(RatingPoint.objects.order_by("pk").values()) == before
    assert history_refresh(environment) == 0


def seating(duel: int, first: int, second: int) -> Seating:
    return duel, first, second, 1, 0, 0


def test_of_very_many_versions_those_that_played_last_are_rated_together() -> None:
    rows = [seating(1, 10, 11), seating(2, 12, 13), seating(3, 13, 14), seating(2, 13, 12)]
    assert pool_of(rows, always={10}, limit=3) == {10, 14, 13}
    assert pool_of(reversed(rows), always={10}, limit=4) == {10, 14, 13, 12}
    # All versions with a rank are in, however many they are.
    assert pool_of(rows, always={10, 11, 12}, limit=2) == {10, 11, 12}
    assert pool_of(rows, always=()) == {10, 11, 12, 13, 14}
    assert POOL >= 1000


def test_versions_beyond_the_pool_have_no_rating_and_what_is_stored_stays_a_function_of_the_ledger(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (one, two, three) = finished_edition(environment)
    newer = factories.ready(three.agent)
    advance(environment, now=LATER)
    play_all(edition(environment))
    advance(environment, now=LATER)
    assert values().keys() == {one.pk, two.pk, three.pk, newer.pk}

    monkeypatch.setattr(fits, "pool_of", lambda rows, *, always: pool_of(rows, always=always, limit=3))
    ratings_refresh(environment)
    bounded = values()
    assert bounded.keys() == {one.pk, two.pk, newer.pk}
    assert not ratings_are_outdated(environment)
    Rating.objects.all().delete()
    ratings_refresh(environment)
    assert values() == bounded
    # Its version of before has a rank again although it had left the pool.
    newer.is_benched = True
    newer.save()
    advance(environment, now=LATER + FIT_EVERY)
    assert ranks() == {one.pk: 1, two.pk: 2, three.pk: 3}
