"""Ratings as rows: what stands where, who has a rank, and when they are computed again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import combinations

import numpy as np
import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks

from arena_kit.environment.records import Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.ranking.rating import RatingFit, fit_ratings
from core.editions import fits
from core.editions.fits import FIT_EVERY, ratings_are_outdated, ratings_refresh
from core.editions.follow import follow, rebuild
from core.editions.services import advance, start_now
from core.editions.sums import DIGITS
from core.editions.tests.samples import LATER, edition, finished_edition, play, play_all, players
from core.models import (
    Environment,
    Ledger,
    LedgerEntry,
    LiveRating,
    Participant,
    Rating,
    RatingPool,
    Submission,
    Tournament,
)
from core.moderation.services import agent_disable, agent_enable
from core.tests import factories
from core.tournaments.ladders import agent_rest
from core.tournaments.strikes import duel_void

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


def soon() -> datetime:
    """So early that no rating is due again."""
    return datetime.now(UTC)


def official() -> dict[int, tuple[float, float, float]]:
    return {key: (low, value, high) for key, low, value, high in
            Rating.objects.values_list("submission", "low", "value", "high")}  # fmt: skip


def ranks() -> dict[int, int | None]:
    return dict(Rating.objects.values_list("submission", "rank"))


def live() -> dict[int, float]:
    return dict(Rating.objects.values_list("submission", "live"))


def test_an_edition_leaves_official_and_live_ratings(environment: Environment) -> None:
    tournament, rows = finished_edition(environment)

    best, middle, last = Rating.objects.order_by("rank")
    assert [row.submission_id for row in (best, middle, last)] == [row.pk for row in rows]
    assert [row.rank for row in (best, middle, last)] == [1, 2, 3]
    # Three won or lost matches tell no two versions apart for certain.
    assert {(row.best_rank, row.worst_rank) for row in (best, middle, last)} == {(1, 3)}
    assert all(row.low < row.value < row.high for row in (best, middle, last))
    # The reference has not played, so the two oldest versions hold the scale.
    assert best.value + middle.value == pytest.approx(2 * 1500)
    assert sum(row.best_chance or 0 for row in (best, middle, last)) == pytest.approx(1)
    assert {(row.duel_count, row.match_count) for row in (best, middle, last)} == {(2, 2)}
    # Elo, by hand: each K 40; one beats two and three, two beats three, in the order of the schedule.
    assert [best.live, last.live] == pytest.approx([1538.9, 1461.1], abs=2)
    assert best.live != best.value
    kept = {row.submission_id: (row.rating_low, row.rating, row.rating_high) for row in tournament.participants.all()}
    assert kept == official()

    pool = RatingPool.objects.get()
    assert (pool.duel_count, pool.is_connected) == (3, True)
    assert pool.ledger_version == Ledger.objects.get().version == 3
    assert pool.first_seat_low < pool.first_seat < pool.first_seat_high


def test_the_reference_holds_the_scale_once_it_has_played(environment: Environment) -> None:
    rows = players(environment, 4)
    digest = get_spec(environment.spec_id).reference.sha256[0]
    # Of two copies, the one that was uploaded first is the reference.
    Submission.objects.filter(pk__in=[rows[1].pk, rows[2].pk]).update(archive_sha256=digest)
    advance(environment, now=LATER)
    play_all(edition(environment))
    advance(environment, now=LATER)

    found = official()
    assert found[rows[1].pk] == (1000.0, 1000.0, 1000.0)
    assert all(low < value < high for key, (low, value, high) in found.items() if key != rows[1].pk)
    assert RatingPool.objects.get().mean == pytest.approx(sum(value for _, value, _ in found.values()) / 4, abs=1)


def test_forfeits_are_losses_and_wins_of_the_other(environment: Environment) -> None:
    one, two = players(environment, 2)
    duel = factories.tournament([one, two]).duels.get()
    nothing = {"wins": 0, "losses": 0, "draws": 0, "score": 0.0}
    forfeits = [(one, two, 0, 5, 0), (two, one, 1, 0, 5), (two, one, 0, 0, 5), (one, two, 1, 5, 0)]
    for own, opponent, seat, errors, opponent_errors in forfeits:
        LedgerEntry.objects.create(
            duel=duel, submission=own, opponent=opponent, seat=seat, errors=errors, opponent_errors=opponent_errors,
            **nothing,
        )  # fmt: skip
    rebuild(environment)
    ratings_refresh(environment)
    rows = dict(Rating.objects.values_list("submission", "value"))
    assert rows[one.pk] < 1500 < rows[two.pk]
    assert set(Rating.objects.values_list("match_count", flat=True)) == {10}
    assert RatingPool.objects.get().first_seat == pytest.approx(0, abs=1e-6)


def test_live_ratings_move_with_every_duel_and_official_ones_every_few_minutes(environment: Environment) -> None:
    finished_edition(environment)
    start_now(environment)
    before, elo, fitted_at = official(), live(), Rating.objects.latest("updated_at").updated_at
    queued = list(edition(environment).duels.order_by("number"))

    play(queued[0])
    advance(environment, now=soon())
    assert official() == before
    moved = {queued[0].player_1_id, queued[0].player_2_id}
    assert {key for key, value in live().items() if value != elo[key]} == moved
    assert set(Rating.objects.filter(updated_at__gt=fitted_at).values_list("submission", flat=True)) == moved

    advance(environment, now=soon() + FIT_EVERY)
    assert official() != before
    assert not ratings_are_outdated(environment)


def test_live_ratings_move_with_every_duel_however_many_were_played(environment: Environment) -> None:
    finished_edition(environment)
    LiveRating.objects.update(duel_count=1_000_000)
    elo = live()
    duel = start_now(environment).duels.all()[0]
    play(duel)
    advance(environment, now=soon())
    assert {key for key, value in live().items() if value != elo[key]} == {duel.player_1_id, duel.player_2_id}


def test_a_fit_does_not_take_back_live_ratings_that_have_moved_on_since(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished_edition(environment)
    duel = start_now(environment).duels.all()[0]
    elo = live()

    def meanwhile(*arguments: object, **named: object) -> RatingFit:
        if duel.state != "SUCCEEDED":
            play(duel)
            duel.refresh_from_db()
            follow(environment)
        return fit_ratings(*arguments, **named)  # type: ignore[arg-type]  # as they were given

    monkeypatch.setattr(fits, "fit_ratings", meanwhile)
    ratings_refresh(environment)
    assert {key for key, value in live().items() if value != elo[key]} == {duel.player_1_id, duel.player_2_id}
    assert ratings_are_outdated(environment), "the fit has not seen the last result"


def test_a_live_rating_follows_the_order_in_which_results_came_in(environment: Environment) -> None:
    finished_edition(environment)
    second = start_now(environment)
    for duel in second.duels.order_by("-number"):
        play(duel)
        advance(environment, now=soon())
    step_by_step = live()
    rebuild(environment)
    assert live() == step_by_step


def test_ratings_are_the_same_to_the_last_digit_however_often_they_were_fitted(environment: Environment) -> None:
    finished_edition(environment)
    for duel in start_now(environment).duels.all():
        play(duel)
        advance(environment, now=LATER)
    followed = list(Rating.objects.order_by("submission").values("value", "low", "high", "best_chance"))
    Rating.objects.all().delete()
    RatingPool.objects.all().delete()
    advance(environment, now=LATER)
    assert list(Rating.objects.order_by("submission").values("value", "low", "high", "best_chance")) == followed


def test_what_is_stored_does_not_depend_on_ids_and_the_order_of_rows() -> None:
    random = np.random.default_rng(7)
    duels = list(combinations(range(8), 2))
    rows = [(n, *pair, *random.integers(0, 6, 3).tolist()) for n, pair in enumerate(duels)]
    ids = (100 + random.permutation(8)).tolist()
    renamed = [(len(duels) - n, ids[first], ids[second], *counts) for n, first, second, *counts in reversed(rows)]

    def stored(fitted: RatingFit, submission: int) -> list[float]:
        rating = fitted.interval(fitted.submissions.index(submission))
        return [round(value, DIGITS) for value in (rating.low, rating.value, rating.high)]

    one, other = fit_ratings(rows), fit_ratings(renamed)
    assert [stored(one, n) for n in range(8)] == [stored(other, ids[n]) for n in range(8)]


def test_who_may_not_play_keeps_the_rating_and_has_no_rank_until_it_may(environment: Environment) -> None:
    _, (one, two, three) = finished_edition(environment)
    before = official()

    agent_disable(agent=one.agent, reason="It copies another.")
    advance(environment, now=LATER)
    assert ranks() == {one.pk: None, two.pk: 1, three.pk: 2}
    assert official() == before
    assert Rating.objects.get(submission=one).best_chance is None

    agent_enable(agent=one.agent)
    advance(environment, now=LATER)
    assert ranks() == {one.pk: 1, two.pk: 2, three.pk: 3}


def test_a_new_version_takes_the_rank_once_it_has_played(environment: Environment) -> None:
    _, (one, two, three) = finished_edition(environment)
    newer = factories.ready(three.agent)
    advance(environment, now=LATER)
    assert ranks() == {one.pk: 1, two.pk: 2, three.pk: 3}

    play_all(edition(environment))
    advance(environment, now=LATER)
    assert ranks() == {one.pk: 1, two.pk: 2, three.pk: None, newer.pk: 3}


def test_a_new_version_is_expected_where_its_predecessor_is(environment: Environment) -> None:
    _, (one, two, _) = finished_edition(environment)
    heir = factories.ready(one.agent)
    advance(environment, now=LATER)
    (duel,) = edition(environment).duels.filter(player_1__in=[heir, two], player_2__in=[heir, two])
    play(duel, Outcome.DRAW)
    advance(environment, now=LATER)
    after_a_draw = Rating.objects.get(submission=heir).value
    assert Rating.objects.get(submission=two).value < after_a_draw < Rating.objects.get(submission=one).value


def test_ratings_are_computed_again_only_for_a_reason(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament, (one, two, _) = finished_edition(environment)
    duel_void(duel=tournament.duels.get(player_1=one, player_2=two), reason="The clock was wrong.", user=None)
    follow(environment)
    assert ratings_are_outdated(environment)
    advance(environment, now=LATER)
    assert RatingPool.objects.get().duel_count == 2

    fitted: list[Environment] = []
    monkeypatch.setattr(fits, "ratings_refresh", fitted.append)
    for _ in range(2):
        advance(environment, now=LATER)
    assert not fitted
    start_now(environment)
    advance(environment, now=LATER + timedelta(days=1))
    assert not fitted


def test_an_environment_without_duels_asks_for_no_ratings(environment: Environment) -> None:
    players(environment, 1)
    assert not ratings_are_outdated(environment)
    assert not RatingPool.objects.exists()
    assert not Tournament.objects.exists()
    assert not Participant.objects.exists()


@pytest.mark.parametrize("bar", [agent_disable, agent_rest])
def test_an_agent_that_is_hidden_or_disabled_leaves_the_board_before_the_next_fit(
    environment: Environment,
    bar: Callable[..., None],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    _, (best, middle, last) = finished_edition(environment)
    why = {"is_resting": True} if bar is agent_rest else {"reason": "Mines coins."}
    with django_capture_on_commit_callbacks(execute=True):
        bar(agent=best.agent, **why)
    left = Rating.objects.filter(rank__isnull=False).order_by("rank")
    assert [(row.submission_id, row.rank, row.best_rank, row.worst_rank) for row in left] == [
        (middle.pk, 1, 1, 2),
        (last.pk, 2, 1, 2),
    ]
    assert ratings_are_outdated(environment)
    ratings_refresh(environment)
    assert sum(row.best_chance or 0 for row in left.all()) == pytest.approx(1)
    assert not ratings_are_outdated(environment)
