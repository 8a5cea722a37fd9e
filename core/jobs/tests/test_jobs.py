from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.jobs.claims import claim_next, is_work_waiting
from core.jobs.control import job_requeue
from core.jobs.kinds import JOB_MODELS
from core.jobs.lifecycle import (
    HISTORY_LIMIT,
    LOG_LIMIT_CHARACTERS,
    job_claim,
    job_enqueue,
    job_fail,
    job_give_back,
    job_heartbeat,
    job_succeed,
    job_take,
    job_wake,
    jobs_end_delay,
    log_tail,
)
from core.jobs.lines import line
from core.jobs.registry import SERVICES, Line, QueueService, kinds_of, queue_of, queues_of
from core.jobs.selectors import attempts_of
from core.jobs.states import StaleJob
from core.models import (
    Alarm,
    Build,
    Duel,
    Evaluation,
    Job,
    JobFault,
    JobState,
    PlayedJob,
    Publication,
    Recording,
    Submission,
    Validation,
)
from core.operations import expiry
from core.operations.expiry import jobs_requeue_expired
from core.tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def submission() -> Submission:
    return factories.submission(factories.agent(factories.user("ann"), factories.environment()))


@pytest.fixture
def build(submission: Submission) -> Build:
    return factories.build(submission, JobState.QUEUED)


def claimed(build: Build, worker: str = "worker-1") -> Build:
    job = job_claim(kind=Build, job_id=build.pk, worker=worker)
    assert job is not None
    return job


def let_lease_expire(job: Job) -> None:
    type(job)._default_manager.filter(pk=job.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def database_time() -> datetime:
    """What the clock says that sets the times of jobs."""
    (now,) = Build.objects.values_list(Now())
    found: datetime = now[0]
    return found


def end_delay(job: Job) -> None:
    """Let the delay of a job after a platform fault pass."""
    type(job)._default_manager.filter(pk=job.pk).update(not_before=timezone.now() - timedelta(seconds=1))


def test_a_claim_starts_the_lease(build: Build, settings: Settings) -> None:
    job = claimed(build, "host:1")
    assert (job.state, job.attempt, job.worker) == (JobState.RUNNING, 1, "host:1")
    job.refresh_from_db()

    assert (job.state, job.attempt, job.worker) == (JobState.RUNNING, 1, "host:1")
    assert job.claim_token is not None
    assert job.started_at is not None
    assert job.lease_expires_at == job.started_at + timedelta(seconds=settings.JOB_LEASE_SECONDS)


def test_only_one_worker_gets_a_job(build: Build) -> None:
    assert claimed(build).worker == "worker-1"
    assert job_claim(kind=Build, job_id=build.pk, worker="worker-2") is None
    build.refresh_from_db()
    assert (build.worker, build.attempt) == ("worker-1", 1)


def test_of_two_workers_that_have_read_a_job_one_gets_it(build: Build) -> None:
    first, second = Build.objects.get(pk=build.pk), Build.objects.get(pk=build.pk)
    assert job_take(job=first, worker="worker-1")
    assert not job_take(job=second, worker="worker-2")
    assert (first.state, first.attempt, second.state, second.attempt) == (JobState.RUNNING, 1, JobState.QUEUED, 0)
    build.refresh_from_db()
    assert (build.worker, build.claim_token) == ("worker-1", first.claim_token)


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_only_waiting_jobs_can_be_claimed(submission: Submission, state: JobState) -> None:
    job = factories.build(submission, state)
    assert job_claim(kind=Build, job_id=job.pk, worker="worker-2") is None
    assert job_claim(kind=Build, job_id=10**9, worker="worker-2") is None


def test_a_heartbeat_renews_the_lease_and_carries_news(submission: Submission) -> None:
    validation = factories.validation(submission, JobState.QUEUED)
    job = job_claim(kind=Validation, job_id=validation.pk, worker="worker-1")
    assert job is not None
    let_lease_expire(job)
    job_heartbeat(job=job, log="Half-way.", progress={"matches_done": 25})

    assert jobs_requeue_expired() == 0
    job.refresh_from_db()
    assert (job.state, job.log, job.matches_done) == (JobState.RUNNING, "Half-way.", 25)


def test_a_zombies_result_is_refused(build: Build) -> None:
    zombie = claimed(build, "zombie")
    let_lease_expire(zombie)
    assert jobs_requeue_expired() == 1
    end_delay(build)
    heir = claimed(build, "heir")

    with pytest.raises(StaleJob):
        job_heartbeat(job=zombie)
    with pytest.raises(StaleJob):
        job_fail(job=zombie, fault=JobFault.PLAYER, code="late", error="Too late.")
    with pytest.raises(StaleJob):
        job_give_back(job=zombie, code="late", error="Too late.")
    with pytest.raises(StaleJob):
        job_succeed(job=zombie, log="Too late.")
    job_succeed(job=heir, log="In time.")
    build.refresh_from_db()
    assert (build.state, build.worker, build.log, build.attempt) == (JobState.SUCCEEDED, "heir", "In time.", 2)


def test_an_expired_lease_gives_the_job_back(build: Build) -> None:
    let_lease_expire(claimed(build))
    assert jobs_requeue_expired() == 1

    build.refresh_from_db()
    assert (build.state, build.fault, build.error_code) == (JobState.QUEUED, JobFault.PLATFORM, "worker_lost")
    assert (build.claim_token, build.lease_expires_at) == (None, None)
    assert jobs_requeue_expired() == 0


def test_a_job_with_a_lease_is_left_alone(build: Build) -> None:
    claimed(build)
    assert jobs_requeue_expired() == 0


def test_a_heartbeat_at_the_last_moment_keeps_the_job(build: Build) -> None:
    job = claimed(build)
    let_lease_expire(job)
    beats: list[Build] = []

    def beat(execute: Callable[..., object], sql: str, *rest: object) -> object:
        found = execute(sql, *rest)
        # The watchdog has just read which leases are over.
        if not beats and sql.startswith("SELECT") and "core_build" in sql:
            beats.append(job)
            job_heartbeat(job=job)
        return found

    with connection.execute_wrapper(beat):
        assert jobs_requeue_expired() == 0
    assert beats == [job]
    job_succeed(job=job)


@pytest.mark.parametrize("how", ["released", "expired"])
def test_the_platforms_attempts_are_limited(build: Build, settings: Settings, how: str) -> None:
    settings.JOB_MAX_ATTEMPTS = 2
    for attempt in (1, 2):
        job = claimed(build)
        assert job.attempt == attempt
        if how == "released":
            job_give_back(job=job, code="engine_down", error="The engine does not answer.", log="tried")
        else:
            let_lease_expire(job)
            jobs_requeue_expired()
        end_delay(build)
    build.refresh_from_db()
    assert (build.state, build.fault) == (JobState.FAILED, JobFault.PLATFORM)
    assert build.error_code == ("engine_down" if how == "released" else "worker_lost")
    assert build.ended_at is not None
    assert job_claim(kind=Build, job_id=build.pk, worker="worker-1") is None


def test_a_job_that_kills_every_worker_ends_failed_with_its_history_and_holds_up_no_other(
    build: Build, submission: Submission, settings: Settings
) -> None:
    settings.JOB_MAX_ATTEMPTS = 3
    other = factories.build(submission, JobState.QUEUED)
    for attempt in (1, 2, 3):
        job = claimed(build, f"host:{attempt}")
        # It is counted when it is begun: a worker that dies has no time to write anything.
        assert Build.objects.get(pk=build.pk).attempt == attempt
        let_lease_expire(job)
        jobs_requeue_expired()
        # While it is delayed or has failed, it does not block other jobs.
        assert line(Build)[0] == other
        end_delay(build)

    build.refresh_from_db()
    assert (build.state, build.fault, build.error_code) == (JobState.FAILED, JobFault.PLATFORM, "worker_lost")
    history = attempts_of(build)
    assert [(row.number, row.worker, row.code) for row in history] == [
        (number, f"host:{number}", "worker_lost") for number in (1, 2, 3)
    ]
    assert all(row.started_at and row.started_at <= row.ended_at and row.error for row in history)


def test_a_history_keeps_what_was_requeued_and_its_latest_attempts_alone(build: Build) -> None:
    job_requeue(job=claimed(build), reason="The worker hangs.")
    for _ in range(HISTORY_LIMIT):
        job_give_back(job=claimed(build), code="engine_down", error="The engine does not answer.")
        Build.objects.update(attempt=0, not_before=None)
    history = attempts_of(Build.objects.get(pk=build.pk))
    assert [row.code for row in history] == ["engine_down"] * HISTORY_LIMIT

    job_requeue(job=claimed(build), reason="Again.")
    assert attempts_of(Build.objects.get(pk=build.pk))[-1].error == "Again."


def test_a_job_that_is_gone_cannot_be_given_back(build: Build) -> None:
    job = claimed(build)
    build.delete()
    with pytest.raises(StaleJob):
        job_give_back(job=job, code="engine_down", error="The engine does not answer.")


def test_a_validation_also_wakes_workers_that_are_reserved_for_it(
    submission: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[str] = []
    monkeypatch.setattr("core.jobs.lifecycle.workers_wake", woken.append)
    job_enqueue(job=factories.validation(submission, JobState.QUEUED))
    assert woken == ["duel", "quick"]
    job_enqueue(job=factories.build(submission, JobState.QUEUED))
    assert woken == ["duel", "quick", "build"]


def test_work_whose_code_cannot_be_loaded_is_not_claimed_and_stops_no_other_line(
    submission: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = factories.validation(submission, JobState.QUEUED)
    build = factories.build(submission, JobState.QUEUED)
    lines = [Line(Validation, "duel_runner.gone.validate"), Line(Build, "builder.tasks.build_image")]
    monkeypatch.setitem(SERVICES, "build", QueueService(first=lines))
    claim = claim_next("build", worker="worker")
    assert claim is not None
    assert claim.job == build
    waits.refresh_from_db()
    assert (waits.state, waits.attempt) == (JobState.QUEUED, 0)


def test_a_row_that_cannot_be_taken_back_raises_an_alarm_with_its_link(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert job_claim(kind=Build, job_id=build.pk, worker="dead") is not None
    Build.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))

    def breaks(**_: object) -> None:
        raise ValueError("Its history is not a list.")

    with monkeypatch.context() as patch:
        patch.setattr(expiry, "job_give_back", breaks)
        assert jobs_requeue_expired() == 0
    alarm = Alarm.objects.get()
    assert (alarm.key, alarm.settled_at) == (f"build-{build.pk}-cannot-be-taken-back", None)
    assert alarm.address == f"/organise/jobs/build/{build.pk}/"
    # Mended, it is taken back, and nothing is left to do.
    Build.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert jobs_requeue_expired() == 1
    assert not Alarm.objects.filter(settled_at=None).exists()


def test_reserved_workers_take_no_scripts(submission: Submission) -> None:
    task = factories.task()
    agent = factories.agent(factories.user("sam"), task)
    assert queues_of(factories.script_evaluation(factories.script(agent), JobState.QUEUED)) == ["duel"]
    evaluation = factories.evaluation(factories.ready(agent), JobState.QUEUED)
    assert queues_of(evaluation) == queues_of(factories.validation(submission)) == ["duel", "quick"]


def test_a_second_attempt_starts_without_the_first_ones_fault(build: Build) -> None:
    job_give_back(job=claimed(build), code="engine_down", error="The engine does not answer.", log="tried")
    end_delay(build)
    job = claimed(build)
    assert (job.fault, job.error_code, job.error, job.attempt) == (JobFault.NONE, "", "", 2)
    assert job.not_before is None


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 30), (2, 60), (3, 120), (4, 240), (9, 600)])
def test_a_job_is_delayed_longer_after_every_fault_of_the_platform(
    build: Build, settings: Settings, attempt: int, seconds: int
) -> None:
    settings.JOB_MAX_ATTEMPTS = 10
    Build.objects.filter(pk=build.pk).update(attempt=attempt - 1)
    job = claimed(build)
    before = database_time()
    job_give_back(job=job, code="engine_down", error="The engine does not answer.")
    after = database_time()
    build.refresh_from_db()
    assert build.not_before is not None
    assert before <= build.not_before - timedelta(seconds=seconds) <= after


def test_a_delayed_job_is_not_claimed_until_it_is_time(build: Build) -> None:
    job_give_back(job=claimed(build), code="engine_down", error="The engine does not answer.")
    assert jobs_end_delay() == 0
    assert claim_next("build", worker="worker-2") is None
    assert not is_work_waiting("build")

    Build.objects.update(not_before=timezone.now() - timedelta(seconds=1))
    assert (jobs_end_delay(), jobs_end_delay()) == (1, 0)
    assert is_work_waiting("build")
    assert claimed(build).attempt == 2


def test_a_job_that_is_woken_by_hand_is_not_delayed(build: Build) -> None:
    job_give_back(job=claimed(build), code="engine_down", error="The engine does not answer.")
    job_wake(job=build)
    assert claimed(build).attempt == 2


def test_every_kind_of_job_has_a_queue_whose_workers_perform_it(settings: Settings) -> None:
    settings.QUEUES = (*settings.QUEUES, settings.ROLLOUT_QUEUE)
    models = {*Job.__subclasses__(), *PlayedJob.__subclasses__()} - {PlayedJob}
    assert {Build, Validation, Duel, Evaluation, Recording, Publication} <= models == set(JOB_MODELS.values())
    assert {queue_of(model) for model in models} <= set(settings.QUEUES)
    assert sum(len(kinds_of(queue)) for queue in settings.QUEUES) == len(models)
    assert set(SERVICES) <= {*settings.QUEUES, *settings.EXTRA_QUEUES}
    lines = [line for service in SERVICES.values() for line in service.lines]
    assert all(callable(line.action()) and set(line.where) <= set(line.kind.LINES) for line in lines)


def test_logs_keep_their_end_and_what_a_database_can_store() -> None:
    assert log_tail("a\x00b\ud800c") == "ab?c"
    long = "x" * LOG_LIMIT_CHARACTERS + "the end"
    assert log_tail(long) == "[start of the log cut]\n" + long[-LOG_LIMIT_CHARACTERS:]
