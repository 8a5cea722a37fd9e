"""The watch over the queues: who is called when nothing is finished, and when it is over."""

from __future__ import annotations

import smtplib
from datetime import datetime, timedelta

import pytest
from django.core import mail
from django.utils import timezone
from django_q.models import OrmQ, Schedule
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.fixtures import Settings

from core.jobs.messages import task_request
from core.jobs.workers import worker_appear
from core.models import Alarm, Build, Duty, JobFault, JobState, Submission, Worker
from core.notices.alarms import alarm_raise
from core.operations import reaper as lookout
from core.operations.status import watchdog_runs
from core.operations.watchdog import queue_check, queues_check
from core.tests import factories

pytestmark = pytest.mark.django_db
KEY = "queue-build-stands-still"


@pytest.fixture(autouse=True)
def patience(settings: Settings) -> None:
    settings.QUEUE_STALL_MINUTES = 30


@pytest.fixture
def submission() -> Submission:
    return factories.submission(factories.agent(factories.user("ann"), factories.environment()))


@pytest.fixture
def waiting(submission: Submission) -> Build:
    """A build that has waited for an hour."""
    build = factories.build(submission, JobState.QUEUED)
    Build.objects.filter(pk=build.pk).update(created_at=ago(60))
    return build


def ago(minutes: float) -> datetime:
    return timezone.now() - timedelta(minutes=minutes)


def look(queue: str = "build", *, watched_for: float = 1000) -> str:
    """The message of a queue's open alarm after one look; empty without an alarm."""
    queue_check(queue=queue, since=ago(watched_for), now=timezone.now())
    alarm = Alarm.objects.filter(key=f"queue-{queue}-stands-still", settled_at=None).first()
    return alarm.message if alarm else ""


def worker(queue: str = "build", **fields: object) -> Worker:
    return worker_appear(name="host:1", host="host", pid=1, queue=queue, version="1", python="3", **fields)


def test_a_queue_without_workers_is_told_as_such(waiting: Build) -> None:
    assert look() == "The queue build has waiting work but no worker. Start one: manage.py run_workers build."


def test_a_queue_whose_workers_have_no_engine_is_told_as_such(waiting: Build) -> None:
    worker(engine_error="No Docker engine answers.")
    assert look() == (
        "The queue build has waiting work, but its workers have no container engine. No Docker engine answers."
    )


def test_a_queue_with_workers_that_finishes_nothing_says_since_when(waiting: Build) -> None:
    worker()
    assert look() == (
        "Nothing has been finished in the queue build so far, although work waits there and workers are alive."
    )
    done = factories.build(waiting.submission)
    Build.objects.filter(pk=done.pk).update(ended_at=datetime.fromisoformat("2026-03-01T12:34:00+00:00"))
    assert "since 01 Mar, 12:34 UTC" in look()


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING])
def test_the_alarm_settles_itself_when_something_is_finished_again(submission: Submission, state: JobState) -> None:
    build = factories.build(submission, state)
    Build.objects.update(created_at=ago(60))
    assert look()
    factories.build(submission, ended_at=timezone.now())
    assert look() == ""
    assert Alarm.objects.get(key=KEY).settled_at is not None
    factories.moved(Build.objects.filter(pk=build.pk), JobState.CANCELLED)
    assert look() == ""


@pytest.mark.parametrize(
    ("state", "fault", "is_progress"),
    [
        (JobState.SUCCEEDED, JobFault.NONE, True),
        (JobState.FAILED, JobFault.PLAYER, True),
        (JobState.FAILED, JobFault.PLATFORM, False),
        (JobState.CANCELLED, JobFault.NONE, False),
    ],
)
def test_only_what_the_workers_have_finished_is_progress(
    waiting: Build, state: JobState, fault: JobFault, is_progress: bool
) -> None:
    factories.build(waiting.submission, state, fault=fault, ended_at=timezone.now())
    assert (look() == "") is is_progress


def test_patience_is_had_with_new_work_and_with_a_watch_that_begins(submission: Submission, waiting: Build) -> None:
    assert look(watched_for=29) == ""
    assert look(watched_for=31)
    Build.objects.update(created_at=ago(29))
    assert look() == ""


def test_without_a_limit_no_alarm_is_raised(waiting: Build, settings: Settings) -> None:
    settings.QUEUE_STALL_MINUTES = 0
    assert look() == ""


def test_the_queue_of_tournaments_has_messages_and_schedules_as_its_work(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        task_request("tournament", "watchdog")
    assert look("tournament") == ""
    OrmQ.objects.update(lock=ago(31))
    assert look("tournament").startswith("The queue tournament has waiting work but no worker")
    OrmQ.objects.all().delete()
    assert look("tournament") == ""
    Schedule.objects.filter(name="watchdog").update(next_run=ago(31))
    assert look("tournament").startswith("The queue tournament has waiting work but no worker")
    Schedule.objects.filter(name="watchdog").update(repeats=0)
    assert look("tournament") == ""


def test_the_same_standstill_is_logged_and_mailed_once(
    waiting: Build,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    settings.ADMINS = [("olga", "olga@arena.example")]
    settings.EMAIL_SUBJECT_PREFIX = "[RL Arena] "
    with django_capture_on_commit_callbacks(execute=True):
        look()
        look()
    assert [record.levelname for record in caplog.records if "ALARM" in record.message] == ["ERROR"]
    (message,) = mail.outbox
    assert (message.to, message.subject) == (["olga@arena.example"], f"[RL Arena] Alarm: {KEY}")
    assert "The queue build has waiting work but no worker" in message.body

    worker()
    with django_capture_on_commit_callbacks(execute=True):
        assert look().startswith("Nothing has been finished")
    # The trouble has another face now, but they know already.
    assert len(mail.outbox) == 1


def test_mail_that_cannot_be_sent_does_not_keep_the_alarm_back(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise smtplib.SMTPServerDisconnected("gone")

    settings.ADMINS = [("olga", "olga@arena.example")]
    monkeypatch.setattr("core.notices.alarms.mail_admins", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        alarm_raise(key="k", message="Something.")
    assert Alarm.objects.get().settled_at is None


def done_at(ago: timedelta) -> Duty:
    Duty.objects.update(done_at=timezone.now() - ago)
    return Duty.objects.get()


def test_of_all_workers_one_watches_at_a_time() -> None:
    assert queues_check(worker="host:1")
    assert not queues_check(worker="host:2")
    assert Duty.objects.get().worker == "host:1"
    done_at(timedelta(minutes=1))
    assert queues_check(worker="host:2")
    assert Duty.objects.get().worker == "host:2"


def test_a_watch_that_was_off_begins_anew() -> None:
    queues_check(worker="host:1")
    since = Duty.objects.get().since
    done_at(timedelta(minutes=1))
    queues_check(worker="host:1")
    assert Duty.objects.get().since == since
    done_at(timedelta(hours=8))
    assert not watchdog_runs()
    queues_check(worker="host:1")
    assert Duty.objects.get().since > since
    assert watchdog_runs()


def test_the_watch_forgets_workers_that_left_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    worker()
    Worker.objects.update(seen_at=ago(60 * 48))
    looked: list[str] = []
    monkeypatch.setattr("core.operations.watchdog.queue_check", lambda **fields: looked.append(fields["queue"]))
    queues_check(worker="host:2")
    assert not Worker.objects.exists()
    assert looked == ["build", "duel", "sitting", "tournament", "publish"]


def test_a_reaper_watches_also_where_a_folder_cannot_be_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("The disk is gone")

    monkeypatch.setattr(lookout, "remove_abandoned", full)
    lookout.look_around()
    assert watchdog_runs()


def test_every_host_that_plays_has_a_reaper_for_what_its_dead_workers_left() -> None:
    assert {queue: len(lookout.reapers([queue])) for queue in ("build", "duel", "quick", "tournament", "publish")} == {
        "build": 4,
        "duel": 5,
        "quick": 4,
        "tournament": 3,
        "publish": 4,
    }
    # Those beside all of them do each chore once.
    assert len(lookout.reapers(["build", "duel", "quick", "tournament", "publish"])) == 6
