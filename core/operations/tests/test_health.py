"""What monitors are told, also while a part of the arena hangs."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.jobs.workers import worker_appear
from core.models import Build, Duty, Evaluation, Job, JobState, Submission, Worker
from core.operations import health
from core.operations.watchdog import queues_check
from core.tests import factories


@pytest.fixture
def worker(transactional_db: None) -> Worker:
    queues_check(worker="host:1")
    return worker_appear(name="host:1", host="host", pid=1, queue="duel", version="1", python="3")


def components(client: Client) -> tuple[int, dict[str, str]]:
    # Not the answer of a moment ago.
    cache.clear()
    answer = client.get("/health")
    assert answer.headers.get("Retry-After") == ("30" if answer.status_code == 503 else None)
    found: dict[str, str] = answer.json()["components"]
    return answer.status_code, found


def test_a_healthy_arena_says_so(client: Client, worker: Worker) -> None:
    answer = client.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "healthy")
    assert answer.json()["components"] == {
        "database": "healthy",
        "redis": "not used",
        "broker": "healthy",
        "celery_workers": "healthy",
        "watchdog": "healthy",
        "engine": "healthy",
        "storage": "healthy",
        "certificate": "not used",
    }
    assert client.get("/health/").status_code == 200


def test_jobs_without_workers_lost_workers_and_a_silent_engine_are_not_healthy(client: Client, worker: Worker) -> None:
    build = factories.build(
        factories.submission(factories.agent(factories.user("ann"), factories.environment())), JobState.QUEUED
    )
    Build.objects.filter(pk=build.pk).update(created_at=timezone.now() - timedelta(minutes=6), not_before=None)
    status, found = components(client)
    assert (status, found["celery_workers"], found["engine"]) == (503, "unhealthy", "healthy")

    Build.objects.filter(pk=build.pk).update(not_before=timezone.now() + timedelta(days=1))
    assert components(client)[0] == 200

    Worker.objects.update(engine_error="No Docker engine answers.")
    status, found = components(client)
    assert (status, found["celery_workers"], found["engine"]) == (503, "healthy", "unhealthy")

    Worker.objects.update(seen_at=timezone.now() - timedelta(minutes=5))
    status, found = components(client)
    assert (status, found["celery_workers"], found["engine"]) == (503, "unhealthy", "healthy")


def test_queues_without_a_watch_are_not_healthy_though_workers_live(client: Client, worker: Worker) -> None:
    Duty.objects.update(done_at=timezone.now() - timedelta(minutes=4))
    status, found = components(client)
    assert (status, found["watchdog"], found["celery_workers"]) == (503, "unhealthy", "healthy")

    queues_check(worker="host:2")
    assert components(client)[0] == 200


def test_an_arena_of_local_processes_needs_no_engine(db: None, settings: Settings) -> None:
    settings.SANDBOX = "process"
    assert health.health_components()["engine"] == "not used"


def test_a_redis_that_does_not_answer_is_not_healthy(db: None, client: Client, settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    status, found = components(client)
    assert (status, found["redis"]) == (503, "unhealthy")


def test_a_folder_that_cannot_be_written_to_is_not_healthy(db: None, client: Client, settings: Settings) -> None:
    settings.MEDIA_ROOT = "/proc/self"
    assert components(client)[1]["storage"] == "unhealthy"


def test_a_disk_without_room_for_an_upload_is_not_healthy(
    client: Client, worker: Worker, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAX_UPLOAD_BYTES = 1000
    for free, expected in ((999, (503, "unhealthy")), (1000, (200, "healthy"))):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        status, found = components(client)
        assert (status, found["storage"]) == expected


@pytest.fixture(params=["broker"])
def hanging(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A part, the queue by default, that does not answer until it is released.

    Waiting for it ends at once; other parts have their time.
    """
    let_go = threading.Event()

    class Impatient(Future[object]):
        def result(self, timeout: float | None = None) -> object:
            assert timeout is not None
            assert 0 <= timeout <= health.PATIENCE_SECONDS
            if any(self is health._asked[name] for name in hang) and not let_go.is_set():
                raise TimeoutError
            return super().result(timeout)

    part, *hang = {
        "broker": ("waiting_count", "broker"),
        # What is asked after it waits as well.
        "celery_workers": ("_workers", "celery_workers", "playing"),
    }[request.param]
    monkeypatch.setattr(health, part, lambda _: let_go.wait())
    monkeypatch.setattr(health, "Future", Impatient)
    yield let_go
    let_go.set()
    for thread in threading.enumerate():
        if request.param in thread.name:
            thread.join()


def test_a_part_that_hangs_holds_up_neither_the_answer_nor_more_than_one_thread(
    worker: Worker, client: Client, hanging: threading.Event
) -> None:
    for _ in range(2):
        status, found = components(client)
        assert (status, found["broker"], found["database"]) == (503, "unhealthy", "healthy")
        assert (found["celery_workers"], found["watchdog"]) == ("healthy", "healthy")
    assert sum("broker" in thread.name for thread in threading.enumerate()) == 1


@pytest.mark.parametrize("hanging", ["celery_workers"], indirect=True)
def test_lines_that_hang_hide_no_other_part(worker: Worker, client: Client, hanging: threading.Event) -> None:
    status, found = components(client)
    assert (status, found.pop("celery_workers")) == (503, "unhealthy")
    assert {*found.values()} == {"healthy", "not used"}


def test_a_connection_that_breaks_fails_one_question(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks() -> None:
        connection.ensure_connection()
        connection.connection.close()
        Worker.objects.exists()

    monkeypatch.setattr(health, "_watchdog", breaks)
    found, _ = health.health_report()
    assert [name for name, state in found.items() if state == "unhealthy"] == ["watchdog"]


def test_a_part_that_has_hung_is_asked_again_once_it_answers(
    db: None, client: Client, hanging: threading.Event
) -> None:
    assert components(client)[1]["broker"] == "unhealthy"
    hanging.set()
    for thread in threading.enumerate():
        if "broker" in thread.name:
            thread.join()
    assert components(client)[1]["broker"] == "healthy"


def test_whether_the_process_lives_is_answered_without_a_database(client: Client) -> None:
    # No fixture opens one: a query would fail this test. Nor does the name of the host matter.
    for path in ("/health/live", "/health/live/"):
        answer = client.get(path, headers={"host": "10.0.0.7:8000"})
        assert (answer.status_code, answer.json()) == (200, {"status": "alive"})
        assert answer.headers["Cache-Control"] == "no-store"
    assert client.post("/health/live").status_code == 405


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def player(worker: Worker) -> Submission:
    return factories.ready(factories.agent(factories.cast().alice, factories.task()))


@pytest.fixture
def waiting(player: Submission, now: datetime) -> Evaluation:
    """An evaluation that no worker has taken for six minutes."""
    row = factories.evaluation(player, JobState.QUEUED)
    changed(row, created_at=now - timedelta(minutes=6))
    return row


def changed(job: Job, **fields: object) -> None:
    type(job)._default_manager.filter(pk=job.pk).update(**fields)


def workers() -> str:
    """Return the same state from a page and from the address of monitors."""
    state = health.health_components()["celery_workers"]
    assert state == health.health_report()[0]["celery_workers"]
    return state


def test_a_job_that_waits_long_while_nothing_is_done_misses_workers(waiting: Evaluation, now: datetime) -> None:
    assert workers() == health.UNHEALTHY
    changed(waiting, created_at=now - timedelta(minutes=4))
    assert workers() == health.HEALTHY


def test_workers_that_are_busy_with_another_kind_of_the_same_queue_are_there(
    waiting: Evaluation, player: Submission, now: datetime
) -> None:
    running = factories.validation(player, JobState.RUNNING)
    changed(running, lease_expires_at=now + timedelta(minutes=1))
    assert workers() == health.HEALTHY

    # Its worker has not been heard of since.
    changed(running, lease_expires_at=now - timedelta(seconds=1))
    assert workers() == health.UNHEALTHY


def test_workers_that_are_between_two_jobs_are_there(waiting: Evaluation, player: Submission, now: datetime) -> None:
    done = factories.validation(player)
    changed(done, ended_at=now - timedelta(seconds=1))
    assert workers() == health.HEALTHY
    changed(done, ended_at=now - timedelta(minutes=6))
    assert workers() == health.UNHEALTHY


def test_workers_of_another_queue_do_not_help(waiting: Evaluation, player: Submission, now: datetime) -> None:
    changed(factories.build(player, JobState.RUNNING), lease_expires_at=now + timedelta(minutes=1))
    assert workers() == health.UNHEALTHY


def test_a_job_whose_delay_has_just_ended_misses_no_worker(waiting: Evaluation, now: datetime) -> None:
    changed(waiting, not_before=now - timedelta(seconds=50))
    assert workers() == health.HEALTHY
    changed(waiting, not_before=now - timedelta(minutes=6))
    assert workers() == health.UNHEALTHY
