"""Why a job is not running, as everyone is told."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from core.jobs.estimates import FEWEST, MEASURED, duration_words
from core.jobs.lifecycle import job_give_back, job_give_back_stopped
from core.jobs.waits import TAKEN_OVER, Wait, WaitCode, standstill_key, wait_of, waits_of
from core.jobs.workers import worker_appear, worker_stop
from core.models import Build, Job, JobFault, JobState, Submission, Worker
from core.notices.alarms import alarm_raise, alarm_settle
from core.tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def submission() -> Submission:
    return factories.submission(factories.agent(factories.user("ann"), factories.environment()))


def worker(queue: str, **fields: object) -> Worker:
    name = f"host:{Worker.objects.count()}"
    return worker_appear(name=name, host="host", pid=1, queue=queue, version="1", python="3", **fields)


def wait(job: Job) -> Wait:
    job.refresh_from_db()
    found = wait_of(job)
    assert found is not None
    return found


def test_a_job_in_line_says_how_many_are_before_it(submission: Submission) -> None:
    worker("build")
    first, second = (factories.build(submission, JobState.QUEUED) for _ in range(2))
    assert wait(first) == Wait(WaitCode.IN_LINE, "It is next in the queue.", place=1)
    assert wait(second) == Wait(WaitCode.IN_LINE, "It is number 2 in the queue.", place=2)
    assert not wait(second).is_stuck


def finished(submission: Submission, *seconds: float) -> None:
    """Builds that succeeded one after another and ran so long."""
    for number, length in enumerate(seconds):
        begun = factories.NOON + timedelta(hours=number)
        factories.build(submission, started_at=begun, ended_at=begun + timedelta(seconds=length))


def test_a_job_in_line_says_when_it_begins_by_the_median_of_the_last_jobs(submission: Submission) -> None:
    worker("build")
    first, second = (factories.build(submission, JobState.QUEUED) for _ in range(2))
    finished(submission, 240, 240, 3600, 1, 240)
    assert wait(first).sentence == "It is next in the queue and begins in about 2 minutes."
    assert wait(second).sentence == "It is number 2 in the queue and begins in about 6 minutes."
    assert [wait(job).begins_in_seconds for job in (first, second)] == [120, 360]
    # Two workers take them twice as fast; one whose engine does not answer takes none.
    worker("build")
    worker("build", engine_error="No Docker engine answers.")
    assert [wait(job).begins_in_seconds for job in (first, second)] == [60, 180]


def test_only_the_newest_jobs_count_for_an_estimate(submission: Submission) -> None:
    worker("build")
    build = factories.build(submission, JobState.QUEUED)
    finished(submission, *[3600] * 21, *[60] * MEASURED)
    assert wait(build).begins_in_seconds == 30


def test_there_is_no_estimate_with_too_little_to_go_by_or_without_workers_that_work(submission: Submission) -> None:
    build = factories.build(submission, JobState.QUEUED)
    finished(submission, *[60] * (FEWEST - 1))
    # Jobs that failed or were cancelled say little about how long work takes.
    for state in (JobState.FAILED, JobState.CANCELLED):
        factories.build(submission, state)
    serving = worker("build")
    assert wait(build) == Wait(WaitCode.IN_LINE, "It is next in the queue.", place=1)
    finished(submission, 60)
    assert wait(build).begins_in_seconds == 30
    alarm_raise(key=standstill_key("build"), message="Nothing happens.")
    assert wait(build).begins_in_seconds is None
    worker_stop(worker=serving)
    assert wait(build) == Wait(WaitCode.NO_WORKER, "No worker serves its queue now; it is next in the queue.", place=1)


def test_where_workers_do_other_work_too_the_estimate_says_that_it_may_be_later(submission: Submission) -> None:
    worker("duel")
    task, owner = factories.task(), submission.agent.owner
    player = factories.ready(factories.agent(owner, task))
    waiting = factories.evaluation(player, JobState.QUEUED)
    script = factories.script_evaluation(factories.script(factories.agent(owner, task)), JobState.QUEUED)
    heavy = factories.evaluation(player, JobState.QUEUED, is_heavy=True)
    validation = factories.validation(submission, JobState.QUEUED)
    for _ in range(FEWEST):
        for is_heavy in (False, True):
            factories.evaluation(player, ended_at=factories.NOON + timedelta(minutes=20), is_heavy=is_heavy)
        factories.validation(submission, ended_at=factories.NOON + timedelta(seconds=30))
    shared = "It is next in the queue and begins in about 10 minutes, later if other work comes first."
    assert wait(waiting).sentence == shared
    assert wait(validation).sentence == "It is next in the queue and begins in less than a minute."
    # No script has ended yet, and heavy jobs get only some of the workers.
    assert [wait(job).begins_in_seconds for job in (script, heavy)] == [None, None]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "less than a minute"),
        (50, "about a minute"),
        (100, "about 2 minutes"),
        (60 * 13, "about 15 minutes"),
        (60 * 50, "about an hour"),
        (3600 * 2.4, "about 2 hours"),
        (3600 * 30, "more than a day"),
    ],
)
def test_an_estimate_is_in_rounded_words(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_what_runs_or_is_over_waits_for_nothing(submission: Submission, state: JobState) -> None:
    assert wait_of(factories.build(submission, state)) is None


def test_without_a_worker_a_queue_says_so(submission: Submission) -> None:
    build = factories.build(submission, JobState.QUEUED)
    worker_stop(worker=worker("build"))
    worker("duel")
    found = wait(build)
    assert (found.code, found.place, found.is_stuck) == (WaitCode.NO_WORKER, 1, True)
    assert found.sentence == "No worker serves its queue now; it is next in the queue."


def test_a_worker_that_is_reserved_serves_no_duels(submission: Submission) -> None:
    worker("quick")
    validation = factories.validation(submission, JobState.QUEUED)
    duel = factories.tournament(
        [submission, factories.ready(factories.agent(factories.user("b"), submission.agent.environment))]
    ).duels.get()
    factories.moved(type(duel).objects.all(), JobState.QUEUED)
    assert wait(validation).code == WaitCode.IN_LINE
    assert wait(duel).code == WaitCode.NO_WORKER


def test_scripts_wait_for_workers_of_duels_in_a_line_of_their_own(submission: Submission) -> None:
    worker("quick")
    task, owner = factories.task(), submission.agent.owner
    player = factories.ready(factories.agent(owner, task))
    scripts = [
        factories.script_evaluation(factories.script(factories.agent(owner, task)), JobState.QUEUED) for _ in range(2)
    ]
    evaluation = factories.evaluation(player, JobState.QUEUED)
    recording = factories.recording(factories.evaluation(player), state=JobState.QUEUED)
    assert [(wait(job).code, wait(job).place) for job in (*scripts, evaluation, recording)] == [
        (WaitCode.NO_WORKER, 1),
        (WaitCode.NO_WORKER, 2),
        (WaitCode.IN_LINE, 1),
        (WaitCode.IN_LINE, 1),
    ]


def test_an_engine_that_answers_no_worker_is_named(submission: Submission) -> None:
    build = factories.build(submission, JobState.QUEUED)
    worker("build", engine_error="No Docker engine answers.")
    assert wait(build).code == WaitCode.ENGINE_DOWN
    assert wait(build).is_stuck
    worker("build")
    assert wait(build).code == WaitCode.IN_LINE


def test_a_queue_that_stands_still_says_since_when_until_it_moves(submission: Submission) -> None:
    build = factories.build(submission, JobState.QUEUED)
    worker("build")
    alarm = alarm_raise(key=standstill_key("build"), message="Nothing happens.")
    called = f"{alarm.raised_at.astimezone(UTC):%H:%M} UTC"
    assert wait(build).sentence == (
        f"Its queue has stopped finishing jobs; the organisers got an alarm at {called}. It is next in the queue."
    )
    assert (wait(build).code, wait(build).is_stuck) == (WaitCode.STANDS_STILL, True)
    alarm_settle(key=standstill_key("build"))
    assert wait(build).code == WaitCode.IN_LINE


@pytest.mark.parametrize(
    ("code", "expected", "sentence"),
    [
        ("disk_full", WaitCode.DELAYED, "It is tried again at about {} (attempt 2 of 5), after a fault of the arena."),
        (
            "engine_unavailable",
            WaitCode.ENGINE_DOWN,
            "The container engine did not answer; it is tried again at about {} (attempt 2 of 5).",
        ),
        (
            "worker_lost",
            WaitCode.WORKER_LOST,
            "Its worker was lost; another one takes it at about {} (attempt 2 of 5).",
        ),
    ],
)
def test_a_job_that_rests_says_until_when_and_after_what(
    submission: Submission, code: str, expected: WaitCode, sentence: str, settings: Settings
) -> None:
    settings.JOB_MAX_ATTEMPTS = 5
    build = factories.build(submission, JobState.RUNNING)
    job_give_back(job=build, code=code, error="Why.")
    found = wait(build)
    assert build.not_before is not None
    assert (found.code, found.until, found.place) == (expected, build.not_before, None)
    assert found.sentence == sentence.format(f"{build.not_before.astimezone(UTC):%H:%M} UTC")


def test_what_was_given_back_is_taken_again_soon(submission: Submission) -> None:
    build = factories.build(submission, JobState.RUNNING)
    job_give_back_stopped(job=build)
    Build.objects.update(not_before=timezone.now() - timedelta(seconds=1))
    found = wait(build)
    assert (found.code, found.until) == (WaitCode.WORKER_STOPPED, None)
    assert found.sentence == "Its worker was stopped; another one takes it within a minute."


def test_a_running_job_whose_lease_is_over_says_that_its_worker_is_lost(submission: Submission) -> None:
    build = factories.build(submission, JobState.RUNNING)
    Build.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    found = wait(build)
    assert found.code == WaitCode.WORKER_LOST
    assert not found.is_stuck


def test_a_job_that_no_worker_takes_over_is_stuck(submission: Submission) -> None:
    long_ago = timezone.now() - TAKEN_OVER - timedelta(seconds=1)
    running = factories.build(submission, JobState.RUNNING)
    Build.objects.update(lease_expires_at=long_ago)
    lost = wait(running)
    assert (lost.code, lost.is_stuck) == (WaitCode.NO_WORKER, True)
    assert lost.sentence == "Its worker has stopped answering, and no other worker has taken it over."
    job_give_back_stopped(job=running)
    Build.objects.update(not_before=long_ago)
    due = wait(running)
    assert (due.code, due.is_stuck) == (WaitCode.NO_WORKER, True)
    assert due.sentence == f"It was due at {long_ago.astimezone(UTC):%H:%M} UTC, but no worker has taken it."


def test_many_jobs_cost_no_more_than_few(
    submission: Submission, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    jobs: list[Job] = [factories.build(submission, JobState.QUEUED) for _ in range(5)]
    jobs += [factories.validation(submission, JobState.QUEUED) for _ in range(5)]
    with django_assert_num_queries(4):
        found = waits_of([*jobs, None])
    assert [found[job.KIND, job.pk].place for job in jobs] == [1, 2, 3, 4, 5] * 2
    # With workers, the durations of the last jobs are read as well: once for each kind.
    for queue in ("build", "duel"):
        worker(queue)
    with django_assert_num_queries(6):
        waits_of(jobs)
    over = factories.build(submission, JobState.FAILED, fault=JobFault.PLATFORM)
    with django_assert_num_queries(0):
        assert waits_of([None, over]) == {}
