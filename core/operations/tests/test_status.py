"""The arena at a glance, for those who operate it."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from core.jobs.workers import worker_appear, worker_stop
from core.models import Build, JobState, Submission, Tournament, TournamentState, Worker
from core.notices.alarms import alarm_raise
from core.operations.status import STUCK_SHOWN
from core.operations.watchdog import queues_check
from core.tests import factories
from core.times import since

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/silent.sock")


@pytest.fixture
def submission() -> Submission:
    return factories.submission(factories.agent(factories.user("ann"), factories.environment()))


def worker(name: str, queue: str, **fields: object) -> Worker:
    return worker_appear(name=name, host="host", pid=1, queue=queue, version="9.9", python="3.99", **fields)


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("arena_status", *arguments, stdout=output)
    return output.getvalue()


def line(text: str, beginning: str) -> str:
    """The one line that begins so, with single spaces; seconds, which a slow machine makes more, are all `n s`."""
    rows = [re.sub(r"\b\d+ s\b", "n s", " ".join(row.split())) for row in text.splitlines()]
    (found,) = [row for row in rows if row.startswith(beginning)]
    return found


def test_an_arena_without_workers_says_what_is_missing() -> None:
    shown = run()
    assert line(shown, "Sandbox docker") == (
        "Sandbox docker, engine: No Docker engine answers: it is not running, or this user may not use its socket."
    )
    assert line(shown, "WATCHDOG") == "WATCHDOG: it has never run. Start the workers."
    assert line(shown, "duel") == "duel 0 0 0 0 – – 0"
    assert {"Workers: none", "Running: none", "Tournaments: none", "Stuck or delayed: none"} <= set(shown.splitlines())


def test_queues_workers_running_and_stuck_jobs_are_on_one_screen(submission: Submission) -> None:
    worker("host:1", "build", job_kind="build", job_id=7, jobs_done=3, faults=1, last_fault="build 6: No disk.")
    worker_stop(worker=worker("host:2", "build"))
    lost = worker("host:3", "duel")
    Worker.objects.filter(pk=lost.pk).update(seen_at=timezone.now() - timedelta(hours=3))
    running = factories.build(submission, JobState.RUNNING, started_at=timezone.now())
    factories.build(submission, JobState.QUEUED)
    delayed = factories.build(submission, JobState.QUEUED, not_before=timezone.now() + timedelta(minutes=1))
    validation = factories.validation(submission, JobState.QUEUED)
    alarm_raise(key="k", message="Something is odd.")
    queues_check(worker="host:1")

    shown = run()

    assert line(shown, "ALARM since").endswith("Something is odd.")
    assert line(shown, "Watchdog").endswith("ago, by host:1.")
    assert line(shown, "build 1 1") == "build 1 1 1 1 n s – 0"
    assert line(shown, "duel ") == "duel 0 0 1 0 n s – 0"
    assert line(shown, "host:1") == "host:1 build alive n s build 7 3 1 9.9 3.99 build 6: No disk."
    assert line(shown, "host:3").startswith("host:3 duel lost 3 h – 0 0")
    assert "host:2" not in shown
    assert line(shown, f"build {running.pk} worker-1").startswith(f"build {running.pk} worker-1 1 n s")
    assert line(shown, f"build {delayed.pk} n s delayed").endswith("after a fault of the arena.")
    assert "No worker serves its queue now" in line(shown, f"validation {validation.pk} n s no_worker")


def test_a_ladder_is_named_with_why_it_plays_nothing(submission: Submission) -> None:
    rival = factories.submission(factories.agent(factories.user("bea"), submission.agent.environment))
    factories.tournament([submission, rival], state=TournamentState.RUNNING)
    Tournament.objects.update(format="ladder", shortfall="A duel needs two.", started_at=timezone.now())
    assert line(run(), "Tic-tac-toe") == "Tic-tac-toe ladder, edition 1 ladder n s 0 1 A duel needs two."


def test_a_job_that_rests_is_named_however_long_the_line_before_it_is(submission: Submission) -> None:
    worker("host:1", "build")
    for _ in range(STUCK_SHOWN):
        factories.build(submission, JobState.QUEUED)
    delayed = factories.build(submission, JobState.QUEUED, not_before=timezone.now() + timedelta(minutes=1))

    assert line(run(), f"build {delayed.pk} n s delayed").endswith("after a fault of the arena.")


def test_programs_get_the_same_as_json(submission: Submission) -> None:
    worker("host:1", "build")
    factories.build(submission)
    found = json.loads(run("--json"))
    assert set(found) == {
        "now", "versions", "watched_at", "watched_by", "queues", "workers", "running", "tournaments", "stuck",
        "alarms", "disks",
    }  # fmt: skip
    assert [(row["name"], row["state"]) for row in found["workers"]] == [("host:1", "alive")]
    assert {row["name"]: row["workers"] for row in found["queues"]} == {
        "build": 1, "duel": 0, "sitting": 0, "tournament": 0, "publish": 0,
    }  # fmt: skip
    assert found["queues"][0]["finished_at"].startswith("2026-03-01T12:00:04")
    assert all(disk["free_bytes"] <= disk["total_bytes"] for disk in found["disks"])


def test_organisers_see_queues_and_workers_on_one_page(organiser: Client, submission: Submission) -> None:
    worker("host:1", "build", job_kind="build", job_id=7, faults=2, last_fault="build 6: <b>No</b> disk.")
    factories.build(submission, JobState.QUEUED)
    page = organiser.get(reverse("web:organise_workers"))
    assertContains(page, '<a href="/organise/jobs/build/7/">build 7</a>')
    assertContains(page, "build 6: &lt;b&gt;No&lt;/b&gt; disk.")
    number = '<td class="num">{}</td>'
    assertContains(page, '<th scope="row">build</th>' + "".join(map(number.format, (1, 0, 1))))
    assertContains(page, '<th scope="row">duel</th><td class="num"><span class="badge badge-bad">none</span></td>')
    assertContains(page, "The queues are not being watched")
    queues_check(worker="host:1")
    assertNotContains(organiser.get(reverse("web:organise_workers")), "not being watched")


def test_organisers_read_the_history_of_a_job_and_what_it_waits_for(organiser: Client, submission: Submission) -> None:
    build = factories.build(submission, JobState.QUEUED)
    moment = "2026-03-01T12:34:56+00:00"
    attempt = {
        "number": 1,
        "worker": "host:3",
        "started_at": moment,
        "ended_at": moment,
        "code": "c",
        "error": "No <i>.",
    }
    Build.objects.update(history=[attempt])
    page = organiser.get(reverse("web:organise_job", args=["build", build.pk]))
    for text in ("1 Mar 2026, 12:34 UTC", "host:3", "No &lt;i&gt;. <code>c</code>"):
        assertContains(page, text)
    assertContains(page, "No worker serves its queue now; it is next in the queue. <code>no_worker</code>")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (172_799, "47 h"),
        (172_800, "2 d"),
    ],
)
def test_spans_are_said_in_one_unit(seconds: int, said: str) -> None:
    now = timezone.now()
    assert since(now - timedelta(seconds=seconds), now) == said
