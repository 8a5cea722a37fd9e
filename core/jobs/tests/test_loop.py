"""The loop of a worker process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import OperationalError

from core.jobs import loop
from core.jobs.heartbeat import activity
from core.jobs.messages import task_request
from core.jobs.registry import TASKS
from core.jobs.worker import Performed

pytestmark = pytest.mark.django_db(transaction=True)


class Rest(Exception):
    """The worker waits for more work, which ends the test."""


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the loop does, in its order; it ends at its third wait."""
    done: list[str] = []

    def wait(queue: str) -> None:
        done.append("wait")
        if done.count("wait") == 3:
            raise Rest

    monkeypatch.setattr(loop, "wait", wait)
    monkeypatch.setitem(TASKS, "note", lambda argument: done.append(f"task {argument}"))
    return done


def steps(monkeypatch: pytest.MonkeyPatch, done: list[str], *outcomes: Performed | Exception) -> None:
    """Let the steps of the worker end so, one after the other, and then find nothing."""
    left: Iterator[Performed | Exception] = iter(outcomes)

    def step(_: str) -> Performed:
        outcome = next(left, Performed.NOTHING)
        if isinstance(outcome, Exception):
            done.append("error")
            raise outcome
        done.append(outcome.value)
        return outcome

    monkeypatch.setattr(loop, "step", step)
    monkeypatch.setattr(loop, "is_anything_waiting", lambda _: True)


def test_messages_come_before_jobs_and_a_worker_without_work_waits(
    monkeypatch: pytest.MonkeyPatch, done: list[str]
) -> None:
    steps(monkeypatch, done, Performed.DONE, Performed.REFUSED)
    for number in (1, 2):
        task_request("publish", "note", number)
    with pytest.raises(Rest):
        loop.serve("publish")
    assert done == ["task 1", "task 2", "done", "refused", *["nothing", "wait"] * 3]


def test_a_worker_that_has_given_a_job_back_lets_others_go_first(
    monkeypatch: pytest.MonkeyPatch, done: list[str]
) -> None:
    steps(monkeypatch, done, Performed.GIVEN_BACK, Performed.DONE)
    with pytest.raises(Rest):
        loop.serve("publish")
    assert done == ["given back", "wait", "done", *["nothing", "wait"] * 2]


def test_neither_an_outage_nor_an_error_ends_a_worker(
    monkeypatch: pytest.MonkeyPatch, done: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    steps(monkeypatch, done, OperationalError("gone"), ValueError("broken"), Performed.DONE)
    with pytest.raises(Rest):
        loop.serve("publish")
    assert done == ["error", "wait", "error", "wait", "done", "nothing", "wait"]
    assert "The database does not answer this worker: gone" in caplog.text
    assert "A worker of the queue publish failed between two jobs." in caplog.text


def test_an_idle_worker_asks_one_light_question(
    done: list[str], django_assert_num_queries: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "step", pytest.fail)
    assert callable(django_assert_num_queries)
    with django_assert_num_queries(3), pytest.raises(Rest):
        loop.serve("duel")
    assert done == ["wait"] * 3


def test_a_worker_ends_between_two_jobs_when_it_is_asked_to_stop_or_has_done_its_share(
    monkeypatch: pytest.MonkeyPatch, done: list[str]
) -> None:
    steps(monkeypatch, done, *[Performed.DONE] * 5)
    monkeypatch.setattr(loop, "RECYCLED_AFTER", 3)
    loop.serve("publish")
    assert done == ["done"] * 3
    monkeypatch.setattr(loop, "is_stopping", lambda: True)
    loop.serve("publish")
    assert done == ["done"] * 3


def test_a_drained_host_begins_no_message(monkeypatch: pytest.MonkeyPatch, done: list[str]) -> None:
    steps(monkeypatch, done)
    monkeypatch.setattr(activity, "is_draining", True)
    task_request("publish", "note", 1)
    with pytest.raises(Rest):
        loop.serve("publish")
    assert "task 1" not in done
