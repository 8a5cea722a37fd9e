"""What the reaper of every host finds."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import Schedule
from pytest_django.fixtures import Settings

from core.jobs.lifecycle import job_claim
from core.models import Build, JobFault, JobState, Submission
from core.operations.reaper import look
from core.tests import factories
from core.tests.working import at_work

pytestmark = pytest.mark.django_db


@pytest.fixture
def build() -> Build:
    submission: Submission = factories.submission(factories.agent(factories.user("ann"), factories.environment()))
    return factories.build(submission, JobState.QUEUED)


def lose(build: Build) -> None:
    """Let a worker claim it and die."""
    assert job_claim(kind=Build, job_id=build.pk, worker="dead") is not None
    Build.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def test_the_job_of_a_dead_worker_waits_for_another_at_once(build: Build) -> None:
    lose(build)
    assert at_work() == []
    look()
    assert at_work() == ["build"]
    assert job_claim(kind=Build, job_id=build.pk, worker="next") is not None


def test_a_job_that_kills_every_worker_fails_with_its_attempts(build: Build, settings: Settings) -> None:
    settings.JOB_MAX_ATTEMPTS = 2
    for _ in range(2):
        lose(build)
        look()
    build.refresh_from_db()
    assert (build.state, build.fault, build.error_code) == (JobState.FAILED, JobFault.PLATFORM, "worker_lost")


def test_schedules_that_a_wrong_clock_has_put_off_run_again() -> None:
    ahead = timezone.now() + timedelta(hours=1)
    Schedule.objects.filter(name__in=("watchdog", "images")).update(next_run=ahead)
    Schedule.objects.filter(name="images").update(minutes=90)
    look()
    next_runs = dict(Schedule.objects.values_list("name", "next_run"))
    assert next_runs["watchdog"] <= timezone.now()
    # That is when an organiser wants it.
    assert next_runs["images"] == ahead
