from __future__ import annotations

import pytest
from django.db import IntegrityError
from django_q.models import OrmQ
from pytest_django import DjangoCaptureOnCommitCallbacks

from core.models import (
    Duel,
    Environment,
    JobState,
    LedgerEntry,
    Participant,
    Rating,
    Submission,
    Tournament,
    TournamentState,
)
from core.queues import TOURNAMENT_TASK, waiting_count
from core.services.artifacts import DuelArtifacts
from core.services.duels import duel_succeed, duel_void
from core.services.jobs import job_claim
from core.services.ratings import ratings_keep, ratings_replace
from core.services.tournaments import EditionTaken, tournament_cancel, tournament_create, tournament_finish
from core.states import StaleJob
from core.tests import factories
from environments.records import DuelRecord, Fault, MatchRecord, Outcome

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
    assert not tournament.duels.filter(woken_at=None).exists()
    assert [row.task["args"] for row in OrmQ.objects.order_by("pk")] == [(duel.pk,) for duel in tournament.duels.all()]
    assert waiting_count("duel") == 3


def test_of_two_who_saw_the_same_last_edition_one_creates_the_next(
    environment: Environment, players: list[Submission]
) -> None:
    tournament = create(environment, players)
    tournament_finish(tournament=tournament)
    with pytest.raises(EditionTaken):
        create(environment, players)
    assert Tournament.objects.get() == tournament
    assert Duel.objects.count() == 3


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
    assert [(row.key, row.task["func"]) for row in OrmQ.objects.all()] == [("tournament", TOURNAMENT_TASK)]


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
        duel_void(duel=duel, reason="Again.", user=None)

    duel = Duel.objects.get(pk=duel.pk)
    assert (duel.state, duel.is_void, duel.void.reason) == (JobState.SUCCEEDED, True, "The environment was broken.")
    assert list(LedgerEntry.objects.values()) == entries
    assert {(row.key, row.task["func"]) for row in OrmQ.objects.all()} == {("tournament", TOURNAMENT_TASK)}


def test_ratings_are_replaced_within_their_environment(environment: Environment, players: list[Submission]) -> None:
    elsewhere = factories.ready(factories.agent(players[0].agent.owner, factories.environment("quarto")))
    for player in (*players, elsewhere):
        Rating.objects.create(submission=player, value=1000, duel_count=1)
    first, second, _ = players

    ratings_replace(
        environment=environment,
        ratings=[
            Rating(submission=first, value=1520, duel_count=2),
            Rating(submission=second, value=1480, duel_count=2),
        ],
    )

    assert list(Rating.objects.values_list("submission", "value", "duel_count")) == [
        (first.pk, 1520, 2),
        (second.pk, 1480, 2),
        (elsewhere.pk, 1000, 1),
    ]


def test_participants_keep_the_ratings_of_their_day(environment: Environment, players: list[Submission]) -> None:
    tournament = create(environment, players)
    Rating.objects.create(submission=players[0], value=1516, duel_count=1)
    ratings_keep(tournament=tournament)
    Rating.objects.update(value=1700)

    kept = Participant.objects.order_by("submission").values_list("rating", flat=True)
    assert list(kept) == [1516, None, None]
