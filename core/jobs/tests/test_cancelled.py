"""Jobs that are cancelled or requeued, and the workers that are woken for them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from core.jobs.control import job_cancel, job_requeue
from core.jobs.lifecycle import job_claim, job_succeed, job_wake
from core.jobs.states import IllegalTransition, StaleJob
from core.models import (
    Build,
    CancelCode,
    JobState,
    Submission,
)
from core.tests import factories
from core.tests.working import at_work

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


def test_a_running_job_can_be_cancelled_under_its_worker(build: Build) -> None:
    job = claimed(build)
    job_cancel(job=Build.objects.get(pk=build.pk), code=CancelCode.BY_ORGANISER, reason="Not wanted any more.")

    with pytest.raises(StaleJob):
        job_succeed(job=job, log="Done.")
    build.refresh_from_db()
    assert (build.state, build.error, build.log) == (JobState.CANCELLED, "Not wanted any more.", "")


def test_what_is_over_cannot_be_cancelled_or_requeued(submission: Submission) -> None:
    for state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED):
        job = factories.build(submission, state)
        with pytest.raises(IllegalTransition):
            job_cancel(job=job, code=CancelCode.BY_ORGANISER, reason="Too late.")
        with pytest.raises(IllegalTransition):
            job_requeue(job=job, reason="Too late.")


def test_a_requeued_job_has_all_its_attempts_again(build: Build) -> None:
    job_requeue(job=claimed(build), reason="The worker hangs.")
    build.refresh_from_db()
    assert (build.state, build.attempt, build.error) == (JobState.QUEUED, 0, "The worker hangs.")


def test_a_requeued_job_wakes_the_workers_of_its_queues(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[str] = []
    monkeypatch.setattr("core.jobs.lifecycle.workers_wake", woken.append)
    Build.objects.update(not_before=timezone.now() + timedelta(hours=1))
    assert at_work() == []
    job_wake(job=build)
    assert (at_work(), woken) == (["build"], ["build"])
