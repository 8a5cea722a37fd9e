"""What the lookout of every cluster finds."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import OrmQ, Schedule
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.fixtures import Settings

from core.jobs import bells as queues
from core.jobs import reaper as lookout
from core.jobs.lifecycle import job_claim
from core.jobs.reaper import look
from core.models import Build, JobFault, JobState, Submission
from core.tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def build() -> Build:
    submission: Submission = factories.submission(factories.agent(factories.user("ann"), factories.environment()))
    return factories.build(submission, JobState.QUEUED)


def lose(build: Build) -> None:
    """Let a worker claim it and die."""
    assert job_claim(kind=Build, job_id=build.pk, worker="dead") is not None
    Build.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def looked(capture: DjangoCaptureOnCommitCallbacks) -> list[object]:
    """Look once; return the jobs for which messages wait then."""
    with capture(execute=True):
        look()
    return [row.task["args"][0] for row in OrmQ.objects.all()]


def test_the_job_of_a_dead_worker_waits_for_another_at_once(
    build: Build, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    lose(build)
    assert looked(django_capture_on_commit_callbacks) == [build.pk]
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


def test_a_lost_message_is_sent_again_and_one_that_waits_is_not(
    build: Build, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    assert looked(django_capture_on_commit_callbacks) == [build.pk]
    Build.objects.update(woken_at=timezone.now() - 2 * lookout.LOST_AFTER)
    assert looked(django_capture_on_commit_callbacks) == [build.pk]
    OrmQ.objects.all().delete()
    assert looked(django_capture_on_commit_callbacks) == [build.pk]


def test_schedules_that_a_wrong_clock_has_put_off_run_again() -> None:
    ahead = timezone.now() + timedelta(hours=1)
    Schedule.objects.filter(name__in=("watchdog", "images")).update(next_run=ahead)
    Schedule.objects.filter(name="images").update(minutes=90)
    look()
    next_runs = dict(Schedule.objects.values_list("name", "next_run"))
    assert next_runs["watchdog"] <= timezone.now()
    # That is when an organiser wants it.
    assert next_runs["images"] == ahead


def test_what_is_committed_stands_although_no_message_can_be_sent(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionError("Redis is down")

    monkeypatch.setattr(queues, "async_task", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        queues.wake("build", "builder.tasks.build_run", build.pk)
    assert OrmQ.objects.count() == 0
    monkeypatch.undo()
    assert looked(django_capture_on_commit_callbacks) == [build.pk]
