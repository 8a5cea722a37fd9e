"""When workers count as missing."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from core.health import HEALTHY, UNHEALTHY, health_components
from core.models import Evaluation, Job, JobState, Submission
from core.tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def player() -> Submission:
    return factories.ready(factories.agent(factories.cast().alice, factories.task()))


@pytest.fixture
def waiting(player: Submission, now: datetime) -> Evaluation:
    """An evaluation that nobody has taken for six minutes."""
    row = factories.evaluation(player, JobState.QUEUED)
    changed(row, created_at=now - timedelta(minutes=6))
    return row


def changed(job: Job, **fields: object) -> None:
    type(job)._default_manager.filter(pk=job.pk).update(**fields)


def workers(now: datetime) -> str:
    return health_components(now=now)["celery_workers"]


def test_a_job_that_waits_long_while_nothing_is_done_misses_workers(waiting: Evaluation, now: datetime) -> None:
    assert workers(now - timedelta(minutes=2)) == HEALTHY
    assert workers(now) == UNHEALTHY


def test_workers_that_are_busy_with_another_kind_of_the_same_queue_are_there(
    waiting: Evaluation, player: Submission, now: datetime
) -> None:
    running = factories.validation(player, JobState.RUNNING)
    changed(running, lease_expires_at=now + timedelta(minutes=1))
    assert workers(now) == HEALTHY

    # Its worker has not been heard of since.
    changed(running, lease_expires_at=now - timedelta(seconds=1))
    assert workers(now) == UNHEALTHY


def test_workers_of_another_queue_do_not_help(waiting: Evaluation, player: Submission, now: datetime) -> None:
    changed(factories.build(player, JobState.RUNNING), lease_expires_at=now + timedelta(minutes=1))
    assert workers(now) == UNHEALTHY


def test_a_job_that_has_just_rested_misses_nobody(waiting: Evaluation, now: datetime) -> None:
    changed(waiting, not_before=now - timedelta(seconds=50))
    assert workers(now) == HEALTHY
    assert workers(now + timedelta(minutes=6)) == UNHEALTHY
