"""Bells: many that are rung in a moment are one message, and a message that is lost costs seconds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import OperationalError, transaction
from django.db.models import F
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django import DjangoCaptureOnCommitCallbacks

from core.jobs import bells as queues
from core.jobs.bells import LOST_AFTER, STALE_AFTER, answer, ring, wake
from core.jobs.lifecycle import job_enqueue
from core.jobs.registry import TASKS, NamedTask
from core.models import Bell, Build, JobState, Submission
from core.tests import factories
from core.tests.concurrency import at_once
from core.tests.working import bells, rung

pytestmark = pytest.mark.django_db
seen: list[int | str] = []


def note(argument: int | str) -> None:
    seen.append(argument)


@pytest.fixture(autouse=True)
def noted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int | str]]:
    """What a task named "note" was called with."""
    monkeypatch.setitem(TASKS, "note", NamedTask("note", f"{__name__}.note"))
    seen.clear()
    yield seen
    seen.clear()


@pytest.fixture
def submission() -> Submission:
    return factories.submission(factories.agent(factories.user("ann"), factories.environment()))


def grow_old() -> None:
    """Let the time pass in which a bell is taken to be on its way."""
    Bell.objects.update(rung_at=timezone.now() - STALE_AFTER - timedelta(seconds=1))


def test_many_jobs_in_a_moment_are_one_message(
    submission: Submission, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        for _ in range(20):
            job_enqueue(job=Build.objects.create(submission=submission))
        job_enqueue(job=factories.validation(submission, JobState.QUEUED))
    assert rung() == ["build", "duel"]


@pytest.mark.django_db(transaction=True)
def test_of_many_that_ring_at_once_one_sends() -> None:
    at_once(*[lambda: ring("build")] * 8)
    assert rung() == ["build"]


@pytest.mark.django_db(transaction=True)
def test_a_bell_can_be_rung_again_as_soon_as_it_is_answered(noted: list[int | str]) -> None:
    wake("publish", "note", 7)
    wake("publish", "note", 7)
    wake("publish", "note", 8)
    assert bells() == [("publish", "note", 7), ("publish", "note", 8)]
    answer("note", 7)
    assert noted == [7]
    wake("publish", "note", 7)
    assert len(bells()) == 3


@pytest.mark.django_db(transaction=True)
def test_what_comes_while_a_bell_is_answered_rings_it_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, "note", lambda argument: wake("publish", "note", argument))
    wake("publish", "note", 1)
    OrmQ.objects.all().delete()
    answer("note", 1)
    assert bells() == [("publish", "note", 1)]


@pytest.mark.django_db(transaction=True)
def test_a_bell_whose_message_was_lost_is_rung_again_after_seconds() -> None:
    ring("build")
    OrmQ.objects.all().delete()
    ring("build")
    assert rung() == []
    grow_old()
    ring("build")
    assert rung() == ["build"]
    # It waits, so the workers are only busy.
    grow_old()
    ring("build")
    assert rung() == ["build"]


@pytest.mark.django_db(transaction=True)
def test_a_lost_bell_is_rung_again_although_other_messages_always_wait_in_its_queue() -> None:
    wake("tournament", "note", 1)
    OrmQ.objects.all().delete()
    wake("tournament", "note", 2)

    def ring_later(by: timedelta) -> None:
        Bell.objects.update(rung_at=F("rung_at") - by)
        wake("tournament", "note", 1)

    # Ringing in vain meanwhile makes it no younger. The database's clock goes on: a slow machine has 30 seconds here.
    for _ in range(int(LOST_AFTER / 2 / STALE_AFTER)):
        ring_later(STALE_AFTER)
        assert bells() == [("tournament", "note", 2)]
    ring_later(LOST_AFTER / 2 + STALE_AFTER)
    assert bells() == [("tournament", "note", 2), ("tournament", "note", 1)]


@pytest.mark.django_db(transaction=True)
def test_a_bell_that_could_not_be_rung_is_not_taken_to_be_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: object, **__: object) -> None:
        raise ConnectionError("Redis is down")

    monkeypatch.setattr(queues, "async_task", down)
    ring("build")
    monkeypatch.undo()
    ring("build")
    assert rung() == ["build"]


@pytest.mark.django_db(transaction=True)
def test_what_is_committed_stands_although_the_database_is_away_when_its_bell_is_rung(
    monkeypatch: pytest.MonkeyPatch, submission: Submission
) -> None:
    def away(**_: object) -> None:
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(Bell.objects, "filter", away)
    with transaction.atomic():
        job_enqueue(job=Build.objects.create(submission=submission))
    assert Build.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_queue_that_needs_a_reserved_worker_has_no_bell_without_one() -> None:
    ring("quick")
    assert (rung(), Bell.objects.exists()) == ([], False)
