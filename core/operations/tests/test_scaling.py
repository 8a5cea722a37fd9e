"""Hosts come and go by rows: with the provider `command`, and a small program that keeps its hosts in a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.jobs.control import job_cancel
from core.jobs.heartbeat import Heartbeat, activity
from core.jobs.hosts import host_name
from core.jobs.lifecycle import job_claim
from core.jobs.worker import Performed, step
from core.models import Alarm, Build, CancelCode, HostState, JobState, Worker, WorkerHost
from core.operations.scaling.decision import Decision, Policy
from core.operations.scaling.providers.command import CommandProvider
from core.operations.scaling.scaler import ALARM, FAILURES, Scaler, host_drain
from core.tests import factories

pytestmark = pytest.mark.django_db

PROGRAM = """
import json, pathlib, sys
file = pathlib.Path(sys.argv[1])
hosts = json.loads(file.read_text()) if file.exists() else []
what = sys.argv[2]
if (file.parent / "broken").exists():
    sys.exit("quota exceeded")
locked = file.parent / "locked"
if what == "destroy" and locked.exists() and sys.argv[3] in locked.read_text().split():
    sys.exit(f"{sys.argv[3]} is locked")
if what == "list":
    print(json.dumps(hosts))
elif what == "create":
    file.write_text(json.dumps([*hosts, sys.argv[3]]))
else:
    file.write_text(json.dumps([name for name in hosts if name != sys.argv[3]]))
"""
NOW = timedelta(0)


class Cloud:
    def __init__(self, folder: Path) -> None:
        self.file, self.broken = folder / "hosts.json", folder / "broken"
        program = folder / "cloud.py"
        program.write_text(PROGRAM)
        self.provider = CommandProvider((sys.executable, str(program), str(self.file)))
        self.scaler = self.anew()

    def anew(self, **policy: float) -> Scaler:
        rules = Policy(**{"maximum": 1, "target_seconds": 60.0, **policy})  # type: ignore[arg-type]  # numbers
        return Scaler(self.provider, rules, kind="command", queues=["build"], worker="w")

    def look(self) -> Decision | None:
        return self.scaler.look(every=NOW)

    @property
    def names(self) -> list[str]:
        return list(json.loads(self.file.read_text())) if self.file.exists() else []

    def lock(self, *names: str) -> None:
        """Let the cloud refuse to remove these hosts."""
        (self.file.parent / "locked").write_text(" ".join(names))

    def put(self, *names: str) -> None:
        self.file.write_text(json.dumps(names))


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    return Cloud(tmp_path)


@pytest.fixture
def waiting() -> Build:
    """A build that waits for a worker."""
    return factories.build(
        factories.submission(factories.agent(factories.user("ann"), factories.environment())), JobState.QUEUED
    )


def appear(host: str) -> None:
    now = timezone.now()
    Worker.objects.create(name=f"{host}:1", host=host, pid=1, queue="build", started_at=now, seen_at=now)


def earlier(host: WorkerHost, **times: timedelta) -> None:
    now = timezone.now()
    WorkerHost.objects.filter(pk=host.pk).update(**{name: now - time for name, time in times.items()})


def test_a_host_is_created_for_work_and_removed_when_its_jobs_are_over(cloud: Cloud, waiting: Build) -> None:
    cloud.look()
    host = WorkerHost.objects.get()
    assert (cloud.names, host.state, host.provider) == ([host.name], HostState.CREATING, "command")
    assert host.reason == "1 open jobs want 1 of 0 to 1 hosts; there are 0."

    appear(host.name)
    job = job_claim(kind=Build, job_id=waiting.pk, worker=f"{host.name}:1")
    assert job is not None
    cloud.look()
    host.refresh_from_db()
    assert (host.state, host.ready_at is not None) == (HostState.READY, True)

    assert host_drain(host=host, reason="An organiser.")
    earlier(host, drained_at=timedelta(minutes=1))
    cloud.look()
    assert host.name in cloud.names, "a host is not removed while a job of its workers runs"
    job_cancel(job=job, code=CancelCode.BY_ORGANISER, reason="Enough.")
    cloud.look()
    assert cloud.names == []
    cloud.look()
    host.refresh_from_db()
    assert (host.state, host.ended_at is not None) == (HostState.ENDED, True)


def test_a_host_that_has_just_been_drained_is_left_until_its_workers_know_it(cloud: Cloud) -> None:
    now = timezone.now()
    WorkerHost.objects.create(name="h", provider="command", state="DRAINING", created_at=now, drained_at=now)
    cloud.put("h")
    cloud.look()
    assert cloud.names == ["h"]


def test_hosts_that_fail_are_given_up_and_replaced(cloud: Cloud, waiting: Build) -> None:
    cloud.look()
    silent = WorkerHost.objects.get()
    earlier(silent, created_at=timedelta(minutes=11))
    cloud.look()
    silent.refresh_from_db()
    assert (silent.state, silent.reason) == (HostState.FAILED, "Its workers were not heard of within 10 minutes.")
    assert silent.name not in cloud.names
    cloud.look()
    lost = WorkerHost.objects.get(state=HostState.CREATING)
    appear(lost.name)
    cloud.look()
    cloud.put()
    cloud.look()
    lost.refresh_from_db()
    assert (lost.state, lost.reason) == (HostState.FAILED, "It is gone, and the arena did not remove it.")
    assert len(cloud.names) == 1


def test_a_host_that_no_row_knows_is_removed(cloud: Cloud) -> None:
    cloud.put("command-of-a-lost-database")
    cloud.look()
    assert cloud.names == []


def test_a_provider_that_goes_on_failing_raises_an_alarm_and_does_nothing_twice(cloud: Cloud, waiting: Build) -> None:
    cloud.broken.touch()
    for _ in range(FAILURES):
        assert cloud.look() is None
    alarm = Alarm.objects.get(key=ALARM)
    assert alarm.message.endswith("quota exceeded")
    assert not WorkerHost.objects.exists()

    cloud.broken.unlink()
    cloud.look()
    alarm.refresh_from_db()
    assert alarm.settled_at is not None
    assert len(cloud.names) == WorkerHost.objects.count() == 1


def gone_wrong(name: str, state: HostState) -> None:
    """A host that is to be removed, and a row that says so."""
    then = timezone.now() - timedelta(minutes=5)
    ended = then if state == HostState.FAILED else None
    drained = None if state == HostState.FAILED else then
    WorkerHost.objects.create(
        name=name, provider="command", state=state, created_at=then, drained_at=drained, ended_at=ended
    )


def test_a_host_that_cannot_be_removed_keeps_no_other_and_raises_an_alarm(cloud: Cloud) -> None:
    gone_wrong("drained", HostState.DRAINING)
    gone_wrong("failed", HostState.FAILED)
    for _ in range(FAILURES):
        cloud.put("drained", "failed", "free", "unknown")
        gone_wrong("free", HostState.FAILED)
        cloud.lock("drained", "failed", "unknown")
        assert cloud.look() is None
        assert cloud.names == ["drained", "failed", "unknown"]
        WorkerHost.objects.get(name="free").delete()
    assert "is locked" in Alarm.objects.get(key=ALARM).message
    cloud.lock()
    cloud.look()
    assert cloud.names == []
    assert Alarm.objects.get(key=ALARM).settled_at is not None


def test_hosts_that_cannot_be_removed_count_against_the_maximum(cloud: Cloud, waiting: Build) -> None:
    gone_wrong("drained", HostState.DRAINING)
    gone_wrong("failed", HostState.FAILED)
    cloud.put("drained", "failed")
    cloud.lock("drained", "failed")
    cloud.scaler = cloud.anew(maximum=2)
    for _ in range(3):
        cloud.look()
        assert cloud.names == ["drained", "failed"]
    cloud.lock("failed")
    cloud.look()
    cloud.look()
    assert len(cloud.names) == 2
    assert "drained" not in cloud.names


def test_two_processes_that_look_at_once_look_once(cloud: Cloud, waiting: Build) -> None:
    assert cloud.scaler.look() is not None
    assert cloud.anew().look() is None
    assert len(cloud.names) == 1


def test_the_hours_of_a_day_are_counted_over_all_hosts(cloud: Cloud, waiting: Build) -> None:
    now = timezone.now()
    WorkerHost.objects.create(name="gone", provider="command", state="ENDED", created_at=now - timedelta(hours=30),
                              ended_at=now - timedelta(hours=20))  # fmt: skip
    cloud.scaler = cloud.anew(hours_per_day=3)
    decision = cloud.look()
    assert decision is not None
    assert decision.create == 0
    assert "used up" in decision.reason


@pytest.fixture
def beating() -> Iterator[Heartbeat]:
    yield Heartbeat(f"{host_name()}:1", "build", dict)
    activity.is_draining = False


def test_the_workers_of_a_drained_host_begin_nothing_more(waiting: Build, beating: Heartbeat) -> None:
    now = timezone.now()
    host = WorkerHost.objects.create(name=host_name(), provider="local", created_at=now, state="READY")
    beating.beat()
    assert not activity.is_draining
    host_drain(host=host, reason="An organiser.")
    beating.beat()
    assert step("build") is Performed.NOTHING
    waiting.refresh_from_db()
    assert waiting.state == JobState.QUEUED


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"provider": ""}, "no provider ''"),
        ({"provider": "aws"}, "It has command, digitalocean, kubernetes, local"),
        ({"provider": "command"}, "needs program="),
        ({"provider": "digitalocean"}, "needs region="),
        ({"provider": "local", "min": 3}, "min not above max"),
    ],
)
def test_settings_that_lack_something_are_named(
    options: dict[str, object], sentence: str, settings: Settings, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    settings.SCALING = {**settings.SCALING, **options}
    with pytest.raises(CommandError, match=sentence):
        call_command("autoscale", "--once")
