"""Duels played without players: a decided result enters row and ledger as the runner would write it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from core.duels.services import duel_succeed
from core.editions.services import advance
from core.jobs.artifacts import DuelArtifacts
from core.jobs.lifecycle import job_claim, job_give_back
from core.models import Build, Duel, Environment, JobState, Submission, Tournament, Validation
from core.tests import factories

LATER = datetime.now(UTC) + timedelta(hours=12)
"""All uploads of a test are old by then."""


def players(environment: Environment, count: int) -> list[Submission]:
    """Agents of one owner without quotas, so that all of them play."""
    owner = factories.user(f"owner-of-{environment.slug}")
    owner.is_quota_exempt = True
    owner.save()
    return [factories.ready(factories.agent(owner, environment)) for _ in range(count)]


def play(duel: Duel, outcome: Outcome | None = None, *, crashes: Submission | None = None, score: float = 1.0) -> None:
    """Play a duel of one match; without an outcome the submission that was uploaded first wins, unless it crashes.

    score: of who wins.
    """
    job = job_claim(kind=Duel, job_id=duel.pk, worker="worker-1")
    assert job is not None
    faulty = None if crashes is None else int(duel.player_2_id == crashes.pk)
    if faulty is not None:
        outcome = (Outcome.PLAYER_2, Outcome.PLAYER_1)[faulty]
    elif outcome is None:
        outcome = Outcome.PLAYER_1 if duel.player_1_id < duel.player_2_id else Outcome.PLAYER_2
    scores = {
        Outcome.PLAYER_1: (score, -score), Outcome.PLAYER_2: (-score, score), Outcome.DRAW: (score, score)
    }[outcome]  # fmt: skip
    fault = Fault.NONE if faulty is None else Fault.PLAYER
    match = MatchRecord(
        number=1, seed=1, seats=(0, 1), actions=(), outcome=outcome, scores=scores, fault=fault, faulty_player=faulty
    )
    record = DuelRecord(environment="tic-tac-toe-v1", seed=1, players=("one", "two"), matches=(match,))
    duel_succeed(duel=job, record=record, artifacts=DuelArtifacts(1, "", "", ""), log="")


def play_all(tournament: Tournament) -> None:
    for duel in tournament.duels.filter(state=JobState.QUEUED):
        play(duel)


def break_down(duel: Duel) -> None:
    """The engine is down until the platform's attempts are used up."""
    while (job := job_claim(kind=Duel, job_id=duel.pk, worker="worker-1")) is not None:
        job_give_back(job=job, code="engine_down", error="The engine does not answer.")
        Duel.objects.filter(pk=duel.pk).update(not_before=None)


def uploaded(rows: list[Submission], *, ago: timedelta, now: datetime) -> None:
    """Set the clock of finished uploads back."""
    Build.objects.filter(submission__in=rows).update(created_at=now - ago)
    Validation.objects.filter(submission__in=rows).update(created_at=now - ago, ended_at=now - ago)


def table(tournament: Tournament) -> list[tuple[int, int, int]]:
    """(submission, rank, points) by rank."""
    return list(tournament.participants.order_by("rank", "submission").values_list("submission", "rank", "points"))


def edition(environment: Environment) -> Tournament:
    return environment.tournaments.order_by("-edition")[0]


def participants_of(tournament: Tournament) -> set[int]:
    return set(tournament.participants.values_list("submission", flat=True))


def finished_edition(environment: Environment, count: int = 3) -> tuple[Tournament, list[Submission]]:
    rows = players(environment, count)
    advance(environment, now=LATER)
    play_all(edition(environment))
    advance(environment, now=LATER)
    return edition(environment), rows
