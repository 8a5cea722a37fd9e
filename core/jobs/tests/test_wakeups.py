"""Idle workers are woken when a transaction with new work commits, and look once a second without."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.db import connection, transaction
from pytest_django.fixtures import Settings

from core.jobs import wakeups
from core.jobs.claims import is_anything_waiting
from core.jobs.wakeups import wait, workers_wake

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def is_woken(act: Callable[[], None], queue: str = "duel") -> bool:
    """Return whether a worker of a queue is woken by what another thread does once the worker waits."""

    def run() -> None:
        time.sleep(0.3)
        try:
            act()
        finally:
            connection.close()

    # It is a listener from its first wait on.
    look_seconds, wakeups.LOOK_SECONDS = wakeups.LOOK_SECONDS, 0.01
    wait(queue)
    wakeups.LOOK_SECONDS = look_seconds
    other = threading.Thread(target=run)
    other.start()
    found = wait(queue)
    other.join()
    return found


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No connection to Redis outlives a test."""
    yield
    wakeups._client.cache_clear()
    wakeups._subscription.cache_clear()


@pytest.fixture
def is_notified(monkeypatch: pytest.MonkeyPatch, settings: Settings, request: pytest.FixtureRequest) -> None:
    """The test runs with notifications of the database, or of Redis."""
    monkeypatch.setattr(wakeups, "LOOK_SECONDS", 3.0)
    if request.param == "redis":
        if not (address := os.environ.get("ARENA_TEST_REDIS_URL")):
            pytest.skip("ARENA_TEST_REDIS_URL is not set")
        settings.REDIS_URL = address


every_way = pytest.mark.parametrize(
    "is_notified",
    [pytest.param("database", marks=pytest.mark.postgres), pytest.param("redis", marks=pytest.mark.redis)],
    indirect=True,
)


@every_way
@pytest.mark.usefixtures("is_notified")
def test_a_worker_is_woken_by_what_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeups, "LOOK_SECONDS", 120.0)
    done: list[str] = []

    def commit() -> None:
        with transaction.atomic():
            workers_wake("duel")
            time.sleep(0.5)
            done.append("committed")

    assert is_woken(commit)
    assert done == ["committed"]


@every_way
@pytest.mark.usefixtures("is_notified")
def test_what_is_rolled_back_and_what_is_of_another_queue_wakes_no_worker() -> None:
    def act() -> None:
        with transaction.atomic():
            workers_wake("duel")
            transaction.set_rollback(True)
        workers_wake("build")

    assert not is_woken(act)


def test_a_worker_behind_a_pooler_looks_every_second(settings: Settings) -> None:
    settings.DATABASE_DIRECT_URL = "postgresql://elsewhere/arena"
    assert not wait("duel")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_listening_channels()")
            assert cursor.fetchone() == (0,)


@pytest.mark.postgres
def test_a_worker_whose_database_is_away_looks_again_on_a_new_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeups, "LOOK_SECONDS", 0.1)
    connection.ensure_connection()
    connection.connection.close()
    assert not wait("duel")
    assert not is_anything_waiting("duel")


def test_a_worker_whose_redis_is_away_looks_every_second(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(wakeups, "LOOK_SECONDS", 0.1)
    # No server answers there.
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert not wait("duel")
    workers_wake("duel")
    assert "The workers of duel could not be woken" in caplog.text
