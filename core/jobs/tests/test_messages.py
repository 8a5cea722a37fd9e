"""Messages: several requests for the same task that wait are one, and one message is one run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import OperationalError, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django_q.models import OrmQ, Schedule
from django_q.scheduler import scheduler
from django_q.tasks import async_task

from core.jobs import messages
from core.jobs.claims import is_anything_waiting
from core.jobs.hosts import worker_name
from core.jobs.messages import TASK, message_do, messages_give_back, messages_thin, task_request
from core.jobs.registry import TASKS, NamedTask
from core.jobs.schedules import message_of
from core.models import Worker
from core.tests.concurrency import at_once
from core.tests.working import do_requested, requested

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
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


def test_of_many_that_ask_at_once_one_sends(noted: list[int | str]) -> None:
    at_once(*[lambda: task_request("publish", "note", 7)] * 8)
    assert requested() == [("publish", "note", 7)]
    do_requested()
    assert noted == [7]


def test_a_task_can_be_requested_again_as_soon_as_it_begins(
    noted: list[int | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    task_request("publish", "note", 7)
    task_request("publish", "note", 8)
    assert message_do("publish")
    assert (noted, requested()) == ([7], [("publish", "note", 8)])
    monkeypatch.setitem(TASKS, "note", lambda argument: task_request("publish", "note", argument))
    assert message_do("publish")
    # What comes while it runs may be too late for this run.
    assert requested() == [("publish", "note", 8)]


def test_a_worker_does_the_messages_of_its_own_queue(noted: list[int | str]) -> None:
    task_request("publish", "note", 1)
    assert not message_do("build")
    assert (is_anything_waiting("build"), is_anything_waiting("publish")) == (False, True)
    assert message_do("publish")
    assert not message_do("publish")
    assert noted == [1]


def test_of_many_workers_one_does_a_message(noted: list[int | str]) -> None:
    task_request("publish", "note", 1)
    at_once(*[lambda: message_do("publish")] * 4)
    assert noted == [1]


def test_what_a_schedule_and_a_result_ask_for_is_done_once(noted: list[int | str]) -> None:
    task_request("publish", "note", 0)
    Schedule.objects.all().delete()
    Schedule.objects.create(name="note", **message_of("publish", "note"), schedule_type=Schedule.MINUTES, minutes=5)
    # django-q's own: it reads the row and sends the message.
    scheduler()
    assert requested() == [("publish", "note", 0)] * 2
    do_requested()
    assert noted == [0]


def test_messages_that_no_worker_takes_do_not_pile_up(noted: list[int | str]) -> None:
    task_request("publish", "note", 1)
    for argument in (0, 1, 0, 0):
        async_task(TASK, "note", argument, cluster="publish")
    async_task(TASK, "note", 0, cluster="build")
    messages_thin()
    assert requested() == [("publish", "note", 1), ("publish", "note", 0), ("build", "note", 0)]


def test_the_task_of_a_worker_that_was_killed_is_done_again(
    noted: list[int | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(argument: int | str) -> None:
        assert not is_anything_waiting("publish")
        task_request("publish", "note", argument)
        assert is_anything_waiting("publish"), "What it may have missed is done after it."
        OrmQ.objects.order_by("-pk")[0].delete()
        raise SystemExit

    task_request("publish", "note", 7)
    with monkeypatch.context() as killed:
        killed.setitem(TASKS, "note", die)
        with pytest.raises(SystemExit):
            message_do("publish")
    assert not message_do("publish"), "It is taken."
    times = {"started_at": Now(), "seen_at": Now()}
    worker = Worker.objects.create(name=worker_name(), queue="publish", host="here", pid=os.getpid(), **times)
    messages_give_back()
    assert not message_do("publish"), "Its worker lives, and is at work still."
    Worker.objects.filter(pk=worker.pk).update(stopped_at=Now())
    messages_give_back()
    assert message_do("publish")
    assert (noted, requested()) == ([7], [])


def test_a_message_of_a_host_whose_clock_is_ahead_is_done_at_once(noted: list[int | str]) -> None:
    task_request("publish", "note", 3)
    OrmQ.objects.update(lock=F("lock") + timedelta(hours=2))
    assert message_do("publish")
    assert noted == [3]


def test_what_is_rolled_back_requests_nothing() -> None:
    with transaction.atomic():
        task_request("publish", "note", 1)
        transaction.set_rollback(True)
    assert requested() == []


def test_what_is_committed_stands_although_the_database_is_away_when_its_task_is_requested(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(_: str) -> QuerySet[OrmQ]:
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(messages, "messages", away)
    task_request("publish", "note", 1)
    assert "The task note of 1 could not be requested: server closed the connection" in caplog.text
    monkeypatch.setattr(messages, "_is_waiting", lambda *_: 1 / 0)
    with transaction.atomic():
        task_request("publish", "note", 2)
    assert "ZeroDivisionError" in caplog.text


def test_a_task_that_fails_and_a_message_that_cannot_be_read_stop_no_other(
    noted: list[int | str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: int | str) -> None:
        raise ValueError("broken")

    monkeypatch.setitem(TASKS, "broken", fail)
    task_request("publish", "broken", 1)
    OrmQ.objects.create(key="publish", payload="written by another arena")
    task_request("publish", "note", 2)
    do_requested()
    assert noted == [2]
    assert "The task broken of 1 could not be updated." in caplog.text
    assert "of the queue publish cannot be read by a worker" in caplog.text
