"""What the processes that perform jobs say about themselves, and who reads it."""

from __future__ import annotations

import platform
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.errors import PlatformFault
from core.jobs import heartbeat as heartbeats
from core.jobs.heartbeat import Activity, Heartbeat, engine_queues
from core.jobs.lease import Lease
from core.jobs.worker_selectors import WorkerState, worker_rows, workers_alive
from core.jobs.workers import worker_appear, worker_beat, worker_stop, workers_prune
from core.models import Build, JobState, Worker
from core.tests import factories
from core.tests.working import perform_one
from core.version import arena_version

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_activity(monkeypatch: pytest.MonkeyPatch) -> Activity:
    """What other tests have done in this process does not count."""
    mine = Activity()
    monkeypatch.setattr(heartbeats, "activity", mine)
    monkeypatch.setattr("core.jobs.worker.activity", mine)
    return mine


def appear(name: str = "host:1", queue: str = "duel") -> Worker:
    return worker_appear(name=name, host="host", pid=1, queue=queue, version="1", python="3")


def last_heard_of(worker: Worker, ago: timedelta) -> None:
    Worker.objects.filter(pk=worker.pk).update(seen_at=timezone.now() - ago)


def states() -> dict[str, str]:
    return {row.name: row.state for row in worker_rows()}  # type: ignore[attr-defined]


def test_a_worker_lives_until_it_stops_or_falls_silent() -> None:
    alive, stopped, lost = appear("host:1"), appear("host:2", "build"), appear("host:3")
    worker_stop(worker=stopped)
    last_heard_of(lost, timedelta(minutes=1))

    assert states() == {"host:1": WorkerState.ALIVE, "host:2": WorkerState.STOPPED, "host:3": WorkerState.LOST}
    assert list(workers_alive()) == list(workers_alive("duel")) == [alive]
    assert not workers_alive("build").exists()

    assert worker_beat(worker=lost, fields={})
    assert states()["host:3"] == WorkerState.ALIVE


def test_rows_of_workers_that_left_long_ago_are_removed_and_those_who_are_still_there_appear_anew() -> None:
    gone, alive = appear("host:1"), appear("host:2")
    last_heard_of(gone, timedelta(days=2))

    assert workers_prune() == 1
    assert list(Worker.objects.all()) == [alive]
    assert not worker_beat(worker=gone, fields={})


def test_a_process_with_the_name_of_an_earlier_one_begins_afresh() -> None:
    first = appear()
    worker_beat(worker=first, fields={"faults": 3, "last_fault": "No engine.", "jobs_done": 9})
    worker_stop(worker=first)

    appear()

    row = Worker.objects.get()
    assert (row.faults, row.last_fault, row.jobs_done, row.stopped_at) == (0, "", 0, None)


@pytest.mark.django_db(transaction=True)
def test_a_beacon_tells_who_works_on_what_and_how_it_has_fared() -> None:
    build = factories.build(
        factories.submission(factories.agent(factories.user("ann"), factories.environment())), JobState.QUEUED
    )
    heartbeat = Heartbeat("host:7", "publish")

    def action(job: Build, lease: Lease) -> None:
        heartbeat.beat()
        row = Worker.objects.get()
        assert (row.job_kind, row.job_id, row.jobs_done) == ("build", build.pk, 0)
        raise PlatformFault("The disk is full.", code="disk_full")

    perform_one(Build, build.pk, action)
    heartbeat.beat()

    row = Worker.objects.get()
    assert (row.name, row.queue, row.version, row.python) == (
        "host:7",
        "publish",
        arena_version(),
        platform.python_version(),
    )
    assert (row.job_kind, row.job_id, row.jobs_done, row.faults) == ("", None, 0, 1)
    assert row.last_fault == f"build {build.pk}: The disk is full. (disk_full)"
    assert row.last_fault_at is not None

    Worker.objects.all().delete()
    heartbeat.beat()
    assert Worker.objects.get().last_fault == row.last_fault


def test_a_beacon_of_a_worker_with_containers_says_when_no_engine_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/silent.sock")
    Heartbeat("host:1", "duel").beat()
    Heartbeat("host:2", "tournament").beat()

    rows = Worker.objects.order_by("name")
    assert [bool(row.engine_error) for row in rows] == [True, False]
    assert rows[0].engine_error.startswith("No Docker engine answers")


@pytest.mark.parametrize(
    ("sandbox", "package_queue", "needed"),
    [
        ("docker", "rollout", {"build", "duel", "sitting", "quick", "heavy", "rollout"}),
        ("kubernetes", "package", {"build", "package"}),
        ("process", "rollout", {"rollout"}),
    ],
)
def test_an_engine_is_asked_for_where_containers_run(
    settings: Settings, sandbox: str, package_queue: str, needed: set[str]
) -> None:
    settings.SANDBOX, settings.PACKAGE_QUEUE = sandbox, package_queue
    settings.QUEUES = (*dict.fromkeys((*settings.QUEUES, package_queue, "rollout")),)
    assert set(engine_queues()) == needed
