"""What the reaper of every cluster finds."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import OrmQ, Schedule
from django_q.tasks import async_task
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.fixtures import Settings

from core.jobs import bells as queues
from core.jobs.bells import ANSWER, WORK
from core.jobs.lifecycle import job_claim
from core.models import Bell, Build, JobFault, JobState, Submission
from core.operations.reaper import look
from core.tests import factories
from core.tests.working import rung

pytestmark = pytest.mark.django_db


@pytest.fixture
def build() -> Build:
    submission: Submission = factories.submission(factories.agent(factories.user("ann"), factories.environment()))
    return factories.build(submission, JobState.QUEUED)


def lose(build: Build) -> None:
    """Let a worker claim it and die."""
    assert job_claim(kind=Build, job_id=build.pk, worker="dead") is not None
    Build.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def looked(capture: DjangoCaptureOnCommitCallbacks) -> list[str]:
    """Look once; return the queues whose bells wait to be answered then."""
    with capture(execute=True):
        look()
    return rung()


def test_the_job_of_a_dead_worker_waits_for_another_at_once(
    build: Build, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    lose(build)
    assert looked(django_capture_on_commit_callbacks) == ["build"]
    assert job_claim(kind=Build, job_id=build.pk, worker="next") is not None


def test_a_job_that_kills_every_worker_fails_with_its_attempts(
    build: Build, settings: Settings, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    settings.JOB_MAX_ATTEMPTS = 2
    for _ in range(2):
        lose(build)
        looked(django_capture_on_commit_callbacks)
    build.refresh_from_db()
    assert (build.state, build.fault, build.error_code) == (JobState.FAILED, JobFault.PLATFORM, "worker_lost")


@pytest.mark.usefixtures("build")
def test_a_lost_message_is_sent_again_and_one_that_waits_is_not(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    assert looked(django_capture_on_commit_callbacks) == ["build"]
    # The workers are busy: the message is still there, and a second one would not help.
    Bell.objects.update(rung_at=timezone.now() - 2 * queues.STALE_AFTER)
    assert looked(django_capture_on_commit_callbacks) == ["build"]
    OrmQ.objects.all().delete()
    Bell.objects.update(rung_at=timezone.now())
    # A young one may be in the hands of a worker.
    assert looked(django_capture_on_commit_callbacks) == []
    Bell.objects.update(rung_at=timezone.now() - 2 * queues.STALE_AFTER)
    # Another queue's messages say nothing about this one.
    async_task(ANSWER, WORK, "duel", cluster="duel")
    assert looked(django_capture_on_commit_callbacks) == ["duel", "build"]


def test_schedules_that_a_wrong_clock_has_put_off_run_again() -> None:
    ahead = timezone.now() + timedelta(hours=1)
    Schedule.objects.filter(name__in=("watchdog", "images")).update(next_run=ahead)
    Schedule.objects.filter(name="images").update(minutes=90)
    look()
    next_runs = dict(Schedule.objects.values_list("name", "next_run"))
    assert next_runs["watchdog"] <= timezone.now()
    # That is when an organiser wants it.
    assert next_runs["images"] == ahead


@pytest.mark.usefixtures("build")
def test_what_is_committed_stands_although_no_message_can_be_sent(
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionError("Redis is down")

    monkeypatch.setattr(queues, "async_task", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        queues.ring("build")
    assert OrmQ.objects.count() == 0
    monkeypatch.undo()
    assert looked(django_capture_on_commit_callbacks) == ["build"]
