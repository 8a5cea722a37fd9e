"""Duels whose environment fails in every attempt: rated ones are put on hold, so that no loss can be escaped."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from django_q.models import Schedule

from arena_kit.environment.availability import Unavailability
from arena_kit.errors import PlatformFault
from arena_kit.referee.match import pair_seed
from builder.tasks import images_remove_unused
from core.editions.services import advance
from core.environments.availability import availability_note, environment_retire
from core.environments.holding import alarms_settle_released
from core.jobs import worker
from core.jobs.control import job_cancel
from core.jobs.lifecycle import job_claim, job_enqueue, job_wake, jobs_end_delay
from core.jobs.selectors import attempts_of
from core.jobs.waits import WaitCode, wait_of
from core.models import (
    Alarm,
    CancelCode,
    Duel,
    Environment,
    JobFault,
    JobState,
    Play,
    Submission,
    Tournament,
    Validation,
)
from core.operations.expiry import jobs_requeue_expired
from core.operations.watchdog import _standstill
from core.submissions.existing import submission_delete
from core.tests import factories
from core.tests.working import run
from core.tournaments.ladders import agent_rest
from duel_runner import local

pytestmark = pytest.mark.django_db(transaction=True)
SENTENCE = "tic-tac-toe-v1: its server has ended, with the signal 6."


@pytest.fixture(autouse=True)
def environment_crashes(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.JOB_DELAY_SECONDS = 0

    def crash(*arguments: object, **named: object) -> None:
        raise PlatformFault(SENTENCE, code="environment_failed", matches=(3, 6))

    monkeypatch.setattr(local, "play_matches", crash)


@pytest.fixture
def game() -> Environment:
    return factories.environment()


@pytest.fixture
def duel(game: Environment) -> Duel:
    ann, bob = (factories.ready(factories.agent(factories.user(name), game)) for name in ("ann", "bob"))
    edition = Tournament.objects.create(environment=game, edition=1)
    row = factories.duel(edition, ann, bob, number=1, state=JobState.QUEUED)
    job_enqueue(job=row)
    return row


def used_up(job: Any) -> Any:
    """Run all attempts of a job; return its row."""
    while run(job) is not worker.Performed.NOTHING:
        type(job).objects.filter(pk=job.pk, attempt__gt=0).update(not_before=None)
    return type(job).objects.get(pk=job.pk)


def test_a_rated_duel_is_on_hold_after_its_last_attempt_and_the_organisers_read_where_it_failed(duel: Duel) -> None:
    duel = used_up(duel)

    assert (duel.state, duel.fault, duel.attempt) == (JobState.QUEUED, JobFault.PLATFORM, 0)
    assert [row.code for row in attempts_of(duel)] == ["environment_failed"] * 5
    wait = wait_of(duel)
    assert wait is not None
    assert (wait.code, wait.is_stuck, wait.until) == (WaitCode.ON_HOLD, True, None)
    alarm = Alarm.objects.get(settled_at=None)
    seeds = [pair_seed(duel.seed, 1), pair_seed(duel.seed, 2)]
    for part in (
        "Tic-tac-toe",
        f"duel {duel.pk}",
        f"match 3 (seed {seeds[0]})",
        f"match 6 (seed {seeds[1]})",
        SENTENCE,
    ):
        assert part in alarm.message
    # It is played again with these seeds, so the players do not read them.
    assert not any(str(seed) in duel.public_error + duel.log for seed in seeds)
    # No worker takes it, and the watchdog does not count it as neglected work.
    jobs_end_delay()
    assert run(duel) is worker.Performed.NOTHING
    Schedule.objects.update(next_run=timezone.now() + timedelta(days=1))
    assert _standstill("duel", timezone.now() + timedelta(hours=1)) == ""


def test_an_edition_waits_for_a_duel_on_hold(duel: Duel, game: Environment) -> None:
    used_up(duel)
    advance(game, now=timezone.now())
    assert Tournament.objects.get().state == "RUNNING"


def test_it_goes_on_when_its_environment_was_synced_or_an_organiser_says_so(duel: Duel, game: Environment) -> None:
    held = used_up(duel)
    availability_note(environment=game, trouble=None)
    held.refresh_from_db()
    assert (held.not_before, held.error_code, held.error) == (None, "", "")
    assert not Alarm.objects.filter(settled_at=None).exists()

    held = used_up(duel)
    assert (held.state, held.error_code) == (JobState.QUEUED, "environment_on_hold")
    assert Alarm.objects.filter(settled_at=None).exists()
    job_wake(job=held)  # what the admin's action Requeue does
    assert run(held) is worker.Performed.GIVEN_BACK


def test_it_stays_on_hold_when_the_rules_that_it_was_made_for_are_gone(duel: Duel, game: Environment) -> None:
    used_up(duel)
    Environment.objects.update(version=9)
    game.refresh_from_db()
    availability_note(environment=game, trouble=None)
    duel.refresh_from_db()
    assert (duel.state, duel.error_code) == (JobState.QUEUED, "environment_on_hold")
    assert Alarm.objects.filter(settled_at=None).exists()

    assert environment_retire(environment=game) == 1
    assert not Alarm.objects.filter(settled_at=None).exists()


def test_a_ladder_goes_on_without_the_two_players_of_a_duel_on_hold(duel: Duel, game: Environment) -> None:
    Duel.objects.all().delete()
    Tournament.objects.all().delete()
    Environment.objects.update(play=Play.LADDER)
    game.refresh_from_db()
    advance(game, now=timezone.now() + timedelta(hours=1))
    ladder = Tournament.objects.get()
    first = list(ladder.duels.values_list("pk", flat=True))
    for row in ladder.duels.all():
        used_up(row)
    advance(game, now=timezone.now() + timedelta(hours=2))
    later = ladder.duels.exclude(pk__in=first)
    assert later.exists(), "their loss waits, but they still play"


@pytest.mark.parametrize("attempts", [1, 5])
@pytest.mark.parametrize("how", ["new version", "rest", "delete"])
def test_no_owner_cancels_a_duel_of_a_ladder_whose_environment_has_failed(
    game: Environment, settings: Any, tmp_path: Path, how: str, attempts: int
) -> None:
    settings.SANDBOX, settings.DATA_DIR = "process", tmp_path
    ann, _ = (factories.ready(factories.agent(factories.user(name), game)) for name in ("ann", "bob"))
    Environment.objects.update(play=Play.LADDER)
    game.refresh_from_db()
    advance(game, now=timezone.now() + timedelta(hours=1))
    failed = Tournament.objects.get().duels.get()
    for _ in range(attempts):
        Duel.objects.filter(pk=failed.pk).update(not_before=None)
        assert run(failed) is not worker.Performed.NOTHING

    if how == "rest":
        agent_rest(agent=ann.agent, is_resting=True)
    elif how == "delete":
        submission_delete(submission=ann)
    else:
        factories.ready(ann.agent)
    advance(game, now=timezone.now() + timedelta(hours=2))

    assert ann.participations.get().withdrawn_at is not None
    failed.refresh_from_db()
    assert failed.state == JobState.QUEUED
    assert (failed.error_code == "environment_on_hold") == (attempts == 5)
    # It can still be played: what it needs is not deleted before.
    images_remove_unused()
    assert Submission.objects.get(pk=ann.pk).image == ann.image


def test_an_unrated_duel_fails_as_before(duel: Duel, game: Environment) -> None:
    challenge = factories.challenge(duel.player_1)
    Duel.objects.update(tournament=None, challenge=challenge)
    duel = used_up(duel)
    assert (duel.state, duel.fault, duel.error_code) == (JobState.FAILED, JobFault.PLATFORM, "environment_failed")
    assert not Alarm.objects.exists()


def test_a_validation_ends_without_blame(game: Environment) -> None:
    submission = factories.submission(factories.agent(factories.user("cy"), game))
    factories.build(submission)
    job = factories.validation(submission, JobState.QUEUED)
    job_enqueue(job=job)
    job = used_up(job)
    assert isinstance(job, Validation)
    assert (job.state, job.fault, job.error_code) == (JobState.FAILED, JobFault.PLATFORM, "environment_failed")


def test_a_last_attempt_that_ends_by_another_fault_does_not_make_a_loss_void(
    duel: Duel, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.JOB_MAX_ATTEMPTS = 2
    faults = [(SENTENCE, "environment_failed"), ("The engine does not answer.", "engine_unavailable")]

    def fail(*arguments: object, **named: object) -> None:
        sentence, code = faults.pop(0)
        raise PlatformFault(sentence, code=code)

    monkeypatch.setattr(local, "play_matches", fail)
    monkeypatch.setattr(worker, "PERSISTS", {})
    duel = used_up(duel)

    assert (duel.state, duel.error_code) == (JobState.QUEUED, "environment_on_hold")
    assert [row.code for row in attempts_of(duel)] == ["environment_failed", "engine_unavailable"]
    message = Alarm.objects.get(settled_at=None).message
    for part in (SENTENCE, "Its last attempt ended by another fault: The engine does not answer."):
        assert part in message


def test_a_worker_that_is_lost_in_the_last_attempt_does_not_either(duel: Duel, settings: Any) -> None:
    settings.JOB_MAX_ATTEMPTS = 2
    run(duel)
    job_wake(job=duel)
    assert job_claim(kind=Duel, job_id=duel.pk, worker="lost") is not None
    Duel.objects.update(lease_expires_at=timezone.now() - timedelta(hours=1))
    assert jobs_requeue_expired() == 1
    duel.refresh_from_db()
    assert (duel.state, duel.error_code) == (JobState.QUEUED, "environment_on_hold")


def test_a_duel_whose_environment_never_failed_is_void_as_before(duel: Duel, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise PlatformFault("The disk is full.", code="disk_full")

    monkeypatch.setattr(local, "play_matches", fail)
    duel = used_up(duel)
    assert (duel.state, duel.error_code) == (JobState.FAILED, "disk_full")


def test_an_environment_that_is_not_available_meanwhile_ends_no_hold(duel: Duel, game: Environment) -> None:
    used_up(duel)
    availability_note(environment=game, trouble=Unavailability("Its library is missing."))
    duel.refresh_from_db()
    assert (duel.state, duel.error_code) == (JobState.QUEUED, "environment_on_hold")
    jobs_end_delay()
    assert run(duel) is worker.Performed.NOTHING


@pytest.mark.parametrize("is_requeued", [True, False])
def test_the_alarm_is_settled_when_no_duel_is_on_hold_any_more(duel: Duel, is_requeued: bool) -> None:
    held = used_up(duel)
    alarms_settle_released()
    assert Alarm.objects.filter(settled_at=None).exists()
    if is_requeued:
        job_wake(job=held)
    else:
        job_cancel(job=held, code=CancelCode.BY_ORGANISER, reason="It cannot be mended.")
    alarms_settle_released()
    assert not Alarm.objects.filter(settled_at=None).exists()
