from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from arena_kit.ranking.sequential import SequentialTest
from core.duels.services import duel_succeed
from core.errors import Refused
from core.jobs.artifacts import DuelArtifacts
from core.jobs.lifecycle import job_claim
from core.jobs.lines import places_of
from core.jobs.messages import TOURNAMENT_TASK
from core.jobs.states import StaleJob
from core.models import (
    Duel,
    Environment,
    JobState,
    LedgerEntry,
    Participant,
    Rating,
    RatingPoint,
    RatingPool,
    Submission,
    Tournament,
    TournamentState,
)
from core.ratings.services import rating_points_thin, ratings_note, ratings_replace
from core.tests import factories
from core.tests.working import at_work, requested
from core.tournaments.services import (
    EditionTaken,
    standings_save,
    tournament_cancel,
    tournament_create,
    tournament_finish,
)
from core.tournaments.strikes import duel_void

pytestmark = pytest.mark.django_db
ARTIFACTS = DuelArtifacts(4, "duels/records.zip", "", "")


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


@pytest.fixture
def players(environment: Environment) -> list[Submission]:
    ann = factories.user("ann")
    return [factories.ready(factories.agent(ann, environment)) for _ in range(3)]


def create(environment: Environment, players: list[Submission], edition: int = 1) -> Tournament:
    first, second, third = players
    rounds = [[(first, second)], [(third, first)], [(second, third)]]
    return tournament_create(environment=environment, edition=edition, submissions=players, rounds=rounds, seed=1000)


def match(number: int, seats: tuple[int, int], outcome: Outcome, scores: tuple[float, float]) -> MatchRecord:
    return MatchRecord(number=number, seed=number, seats=seats, actions=(), outcome=outcome, scores=scores)


def record() -> DuelRecord:
    """Player 1 wins from seat 0, draws from seat 1; player 2 forfeits once and wins once."""
    return DuelRecord(
        environment="tic-tac-toe-v1",
        seed=7,
        players=("one", "two"),
        matches=(
            match(1, (0, 1), Outcome.PLAYER_1, (1.0, -1.0)),
            match(2, (1, 0), Outcome.DRAW, (0.0, 0.0)),
            MatchRecord(
                number=3,
                seed=3,
                seats=(0, 1),
                actions=(),
                outcome=Outcome.PLAYER_1,
                scores=(0.0, 0.0),
                fault=Fault.PLAYER,
                faulty_player=1,
            ),
            match(4, (1, 0), Outcome.PLAYER_2, (-1.0, 1.0)),
        ),
    )


def claimed(duel: Duel) -> Duel:
    job = job_claim(kind=Duel, job_id=duel.pk, worker="worker-1")
    assert job is not None
    return job


def test_an_edition_is_created_whole(
    environment: Environment,
    players: list[Submission],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        tournament = create(environment, players)

    first, second, third = (player.pk for player in players)
    assert (tournament.edition, tournament.state) == (1, TournamentState.RUNNING)
    assert set(tournament.participants.values_list("submission", flat=True)) == {first, second, third}
    assert list(tournament.duels.values_list("number", "round", "player_1", "player_2", "seed", "match_count")) == [
        (1, 1, first, second, 1001, environment.matches_per_duel),
        (2, 2, third, first, 1002, environment.matches_per_duel),
        (3, 3, second, third, 1003, environment.matches_per_duel),
    ]
    assert places_of(Duel, [duel.pk for duel in tournament.duels.all()]) == {
        duel.pk: duel.number for duel in tournament.duels.all()
    }
    assert at_work() == ["duel"]


def test_of_two_who_saw_the_same_last_edition_one_creates_the_next(
    environment: Environment, players: list[Submission]
) -> None:
    tournament = create(environment, players)
    tournament_finish(tournament=tournament)
    with pytest.raises(EditionTaken):
        create(environment, players)
    assert Tournament.objects.get() == tournament
    assert Duel.objects.count() == 3


def test_where_duels_stop_early_the_test_asks_which_of_the_two_is_stronger(
    environment: Environment, players: list[Submission]
) -> None:
    assert set(create(environment, players).duels.values_list("test", flat=True)) == {None}
    Tournament.objects.update(state=TournamentState.FINISHED, ended_at=factories.NOON)
    environment.stops_early, environment.test_elo1 = True, 30.0
    test = SequentialTest(-30, 30, 0.05, 0.05, environment.matches_per_duel // 2)
    assert list(create(environment, players, edition=2).duels.values_list("test", flat=True)) == [test.as_json] * 3


def test_two_editions_never_run_at_once(environment: Environment, players: list[Submission]) -> None:
    create(environment, players)
    with pytest.raises(EditionTaken):
        create(environment, players, edition=2)
    assert Tournament.objects.count() == 1


def test_an_edition_ends_once(environment: Environment, players: list[Submission]) -> None:
    tournament = create(environment, players)
    assert tournament_finish(tournament=tournament)
    tournament.refresh_from_db()
    ended_at = tournament.ended_at
    assert ended_at is not None
    assert not tournament_finish(tournament=tournament)
    tournament_cancel(tournament=tournament, reason="Too late.")
    tournament.refresh_from_db()
    assert (tournament.state, tournament.ended_at) == (TournamentState.FINISHED, ended_at)


def test_cancelling_an_edition_keeps_what_was_played(
    environment: Environment,
    players: list[Submission],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    tournament = create(environment, players)
    played, running, _ = tournament.duels.all()
    duel_succeed(duel=claimed(played), record=record(), artifacts=ARTIFACTS, log="")
    worker_has = claimed(running)

    with django_capture_on_commit_callbacks(execute=True):
        tournament_cancel(tournament=tournament, reason="Wrong limits.")

    assert list(tournament.duels.values_list("state", "error")) == [
        (JobState.SUCCEEDED, ""),
        (JobState.CANCELLED, "Wrong limits."),
        (JobState.CANCELLED, "Wrong limits."),
    ]
    with pytest.raises(StaleJob):
        duel_succeed(duel=worker_has, record=record(), artifacts=ARTIFACTS, log="")
    assert set(LedgerEntry.objects.values_list("duel", flat=True)) == {played.pk}
    assert [(queue, task) for queue, task, _ in requested()] == [("tournament", TOURNAMENT_TASK)]


def test_a_result_enters_row_and_ledger_together(environment: Environment, players: list[Submission]) -> None:
    duel = claimed(create(environment, players).duels.all()[0])
    duel_succeed(duel=duel, record=record(), artifacts=ARTIFACTS, log="Played.")

    duel.refresh_from_db()
    assert (duel.state, duel.outcome, duel.log, duel.matches_done) == (JobState.SUCCEEDED, "PLAYER_1", "Played.", 4)
    assert (duel.player_1_wins, duel.player_2_wins, duel.player_1_errors, duel.player_2_errors, duel.draws) == (
        1, 1, 0, 1, 1,
    )  # fmt: skip
    columns = ("submission", "opponent", "seat", "wins", "losses", "draws", "errors", "opponent_errors", "score")
    one, two = players[0].pk, players[1].pk
    assert list(LedgerEntry.objects.order_by("pk").values_list(*columns)) == [
        (one, two, 0, 1, 0, 0, 0, 1, 1.0),
        (one, two, 1, 0, 1, 1, 0, 0, -1.0),
        (two, one, 0, 1, 0, 1, 0, 0, 1.0),
        (two, one, 1, 0, 1, 0, 1, 0, -1.0),
    ]


def test_a_result_enters_the_ledger_exactly_once(environment: Environment, players: list[Submission]) -> None:
    zombie = claimed(create(environment, players).duels.all()[0])
    Duel.objects.filter(pk=zombie.pk).update(state=JobState.QUEUED, claim_token=None, lease_expires_at=None)
    heir = claimed(zombie)

    duel_succeed(duel=heir, record=record(), artifacts=ARTIFACTS, log="")
    entries = list(LedgerEntry.objects.values())
    with pytest.raises(StaleJob):
        duel_succeed(duel=zombie, record=record(), artifacts=ARTIFACTS, log="")
    assert list(LedgerEntry.objects.values()) == entries
    assert len(entries) == 4


def test_when_the_ledger_refuses_the_row_stays_as_it_was(environment: Environment, players: list[Submission]) -> None:
    duel = claimed(create(environment, players).duels.all()[0])
    before = Duel.objects.values().get(pk=duel.pk)
    LedgerEntry.objects.create(
        duel=duel, submission=players[0], opponent=players[1], seat=0,
        wins=1, losses=0, draws=0, errors=0, opponent_errors=0, score=0,
    )  # fmt: skip
    with pytest.raises(IntegrityError):
        duel_succeed(duel=duel, record=record(), artifacts=ARTIFACTS, log="")
    assert Duel.objects.values().get(pk=duel.pk) == before
    assert LedgerEntry.objects.count() == 1


def test_a_duel_is_struck_once_and_its_entries_stay(
    environment: Environment,
    players: list[Submission],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    duel = claimed(create(environment, players).duels.all()[0])
    duel_succeed(duel=duel, record=record(), artifacts=ARTIFACTS, log="")
    entries = list(LedgerEntry.objects.values())

    with django_capture_on_commit_callbacks(execute=True):
        duel_void(duel=duel, reason="The environment was broken.", user=players[0].agent.owner)
        with pytest.raises(Refused, match="already void"):
            duel_void(duel=duel, reason="Again.", user=None)

    duel = Duel.objects.get(pk=duel.pk)
    assert (duel.state, duel.is_void, duel.void.reason) == (JobState.SUCCEEDED, True, "The environment was broken.")
    assert list(LedgerEntry.objects.values()) == entries
    assert {(queue, task) for queue, task, _ in requested()} == {("tournament", TOURNAMENT_TASK)}


def test_ratings_are_replaced_within_their_environment(environment: Environment, players: list[Submission]) -> None:
    elsewhere = factories.ready(factories.agent(players[0].agent.owner, factories.environment("quarto")))
    for player in (*players, elsewhere):
        factories.rating(player, 1000)
    first, second, _ = players
    fitted = {"low": 1450, "high": 1550, "live": 1500, "duel_count": 2, "match_count": 20}
    ratings = [Rating(submission=first, value=1520, **fitted), Rating(submission=second, value=1480, **fitted)]
    found: dict[str, Any] = {"spread": 200, "first_seat": 10, "first_seat_low": -10, "first_seat_high": 30}
    counts = {"is_connected": True, "duel_count": 2}

    def replace() -> int:
        pool = RatingPool(**found, **counts, fitted_at=timezone.now())
        return ratings_replace(environment=environment, ratings=ratings, pool=pool)

    assert (replace(), replace()) == (3, 0)

    assert list(Rating.objects.values_list("submission", "value", "duel_count")) == [
        (first.pk, 1520, 2),
        (second.pk, 1480, 2),
        (elsewhere.pk, 1000, 1),
    ]
    assert RatingPool.objects.get().environment == environment


def test_standings_take_participants_by_key_before_any_is_written(
    environment: Environment, players: list[Submission]
) -> None:
    participants = list(create(environment, players).participants.order_by("-pk"))
    with CaptureQueriesContext(connection) as queries:
        standings_save(participants=participants)
    taken, written = (query["sql"] for query in queries if '"core_participant"' in query["sql"])
    assert taken.startswith("SELECT")
    assert "ORDER BY" in taken
    assert taken.endswith("FOR NO KEY UPDATE") or connection.vendor == "sqlite"
    assert written.startswith("UPDATE")
    with CaptureQueriesContext(connection) as queries:
        standings_save(participants=[])
    assert not queries.captured_queries


def test_an_edition_keeps_the_ratings_of_its_end(environment: Environment, players: list[Submission]) -> None:
    tournament = create(environment, players)
    first, second, _ = players
    figures = {"low": 1450, "high": 1550, "live": 1500, "duel_count": 2, "match_count": 20}
    ranks = {"rank": 1, "best_rank": 1, "worst_rank": 2, "best_chance": 1}
    ratings = [
        Rating(submission=first, value=1516, **figures, **ranks),
        Rating(submission=second, value=1484, **figures),
    ]
    pool = factories.rating_pool(environment)
    pool.pk = None
    ratings_replace(environment=environment, ratings=ratings, pool=pool, ended=tournament)

    kept = Participant.objects.order_by("submission").values_list("rating", "rating_low", "rating_high")
    assert list(kept) == [(1516, 1450, 1550), (1484, 1450, 1550), (None, None, None)]
    # Of the history are those alone that have a rank.
    point = RatingPoint.objects.get()
    assert (point.submission, point.at, point.value, point.rank) == (first, pool.fitted_at, 1516, 1)


def test_between_editions_a_moment_an_hour_is_kept(environment: Environment, players: list[Submission]) -> None:
    factories.rating(players[0], 1516)
    factories.rating(players[1], 1484, rank=None, best_rank=None, worst_rank=None, best_chance=None)
    pool = factories.rating_pool(environment)
    begun = pool.fitted_at

    def note(minutes: int) -> int:
        pool.fitted_at = begun + timedelta(minutes=minutes)
        pool.save()
        return ratings_note(environment=environment, at=pool.fitted_at)

    assert [note(minutes) for minutes in (0, 0, 59, 61, 61)] == [1, 0, 0, 1, 0]
    moments = RatingPoint.objects.values_list("submission", "at")
    assert list(moments) == [(players[0].pk, begun + timedelta(minutes=minutes)) for minutes in (0, 61)]
    # Nothing was fitted since: there is nothing new to keep.
    assert ratings_note(environment=environment, at=begun + timedelta(days=1)) == 0


def test_of_old_moments_the_last_of_a_day_is_kept_whole(environment: Environment, players: list[Submission]) -> None:
    noon = datetime(2026, 5, 3, 12, tzinfo=UTC)
    moments = [noon - timedelta(days=1), noon, noon + timedelta(hours=3), noon + timedelta(days=1)]
    for at in moments:
        for player in players:
            factories.rating_point(player, at)
    later = noon + timedelta(days=1)
    assert rating_points_thin(before=later, dry_run=True) == 3
    assert rating_points_thin(before=later) == 3
    assert rating_points_thin(before=later) == 0
    left = RatingPoint.objects.values_list("at", "submission")
    assert set(left) == {(at, player.pk) for at in (moments[0], *moments[2:]) for player in players}
