"""What the log contains, and that its lines cannot be forged."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from io import StringIO
from select import select
from threading import Barrier, Event, Thread
from typing import Any, TextIO

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from arena_kit.errors import PlatformFault
from arena_kit.log_context import bind, bound, bound_fields
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_fail, job_succeed
from core.jobs.log import logger as job_logger
from core.models import Build, JobFault, JobState, Submission
from core.monitoring import logs
from core.monitoring.logs import Console, JsonLines, Lines, request_log
from core.tests import factories
from core.tests.working import perform_one
from core.version import arena_version

HOSTILE = "ann\n2026-01-01 ERROR core forged\r\x1b[2J\u2028\ud800"
Lines_ = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def written() -> Iterator[Lines_]:
    """All records of this test, as the JSON format writes them."""
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.removeHandler(handler)
    root.setLevel(level)


def record(message: str, *arguments: object, **extra: object) -> logging.LogRecord:
    return logging.getLogger("core.test").makeRecord(
        "core.test", logging.WARNING, "file.py", 1, message, arguments, None, extra=extra
    )


def test_a_record_says_when_how_grave_who_what_and_what_it_is_about() -> None:
    with bound(request_id="abc"):
        found = json.loads(JsonLines().format(record("%s is full", "The disk", queue="duel")))
    assert found.pop("time").endswith("+00:00")
    assert found == {
        "level": "WARNING",
        "logger": "core.test",
        "message": "The disk is full",
        "service": "command",
        "version": arena_version(),
        "request_id": "abc",
        "queue": "duel",
    }


@pytest.mark.parametrize("formatter", [JsonLines(), Lines()])
def test_whatever_is_logged_stays_one_line(formatter: logging.Formatter) -> None:
    with bound(path=HOSTILE):
        text = formatter.format(record("No such user: %s", HOSTILE, agent=HOSTILE))
    assert len(text.splitlines()) == 1
    assert "\x1b" not in text
    text.encode()


class _Broken:
    def __str__(self) -> str:
        raise RuntimeError("The database is away.")


def test_no_value_loses_a_json_line() -> None:
    circle: list[object] = []
    circle.append(circle)
    for value in (circle, {(1, 2): 3}, _Broken()):
        found = json.loads(JsonLines().format(record("It is full", queue="duel", number=3, about=value)))
        assert (found["message"], found["queue"], found["number"]) == ("It is full", "duel", 3)
        assert type(value).__name__ in found["about"]


@pytest.mark.parametrize("formatter", [JsonLines(), Lines()])
def test_a_trace_cannot_pass_for_records_of_its_own(formatter: logging.Formatter) -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        found = record("It broke")
        found.exc_info = sys.exc_info()
        text = formatter.format(found)
    assert "ValueError" in text
    assert all(line.startswith("    ") for line in text.splitlines()[1:])


@pytest.mark.parametrize("formatter", [JsonLines(), Lines()])
def test_the_values_of_rows_that_postgres_names_are_not_logged(formatter: logging.Formatter) -> None:
    said = "it is taken\nDETAIL:  Failing row contains (7, ann@arena.example,\n\ns3cret).\nCONTEXT:  ann"
    try:
        try:
            raise ValueError(said)
        except ValueError as error:
            found = record("No: %s", error)
            raise RuntimeError("it broke") from error
    except RuntimeError:
        found.exc_info = sys.exc_info()
    text = formatter.format(found)
    assert "ann" not in text
    assert "s3cret" not in text
    # What does not name them stays, also behind it.
    assert text.count("it is taken") == 2
    assert "RuntimeError: it broke" in text


def test_what_is_bound_ends_with_its_block() -> None:
    bind(job_id=0)
    assert not bound_fields()
    with bound(job_id=1):
        bind(stage="play")
        with bound(container_id="c1"):
            assert dict(bound_fields()) == {"job_id": 1, "stage": "play", "container_id": "c1"}
        assert dict(bound_fields()) == {"job_id": 1, "stage": "play"}
    assert not bound_fields()


# --- Requests -------------------------------------------------------------------------------------------------


def test_a_request_is_logged_with_its_id_answer_time_and_user(db: None, client: Client, written: Lines_) -> None:
    user = factories.user("ann")
    client.force_login(user)
    answer = client.get("/profile/?secret=1", headers={"x-request-id": "chosen-by-a-visitor"})

    found = written()[-1]
    assert (found["message"], found["level"]) == ("request_completed", "INFO")
    assert (found["method"], found["path"], found["status_code"], found["user"]) == ("GET", "/profile/", 200, user.pk)
    assert found["duration_ms"] > 0
    # The settings name no trusted proxy.
    assert found["request_id"] == answer.headers["X-Request-ID"] != "chosen-by-a-visitor"


def test_the_id_of_a_trusted_proxy_is_kept_if_it_is_one(db: None, client: Client, settings: Settings) -> None:
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": 1}
    assert client.get("/health/live", headers={"x-request-id": "0123abcd"}).headers["X-Request-ID"] == "0123abcd"
    for bad in ("short", "x" * 65, 'a"b\\c-d e', "é" * 10):
        assert client.get("/health/live", headers={"x-request-id": bad}).headers["X-Request-ID"] != bad


def test_a_request_that_fails_is_logged_as_one_with_its_trace(
    client: Client, written: Lines_, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.raise_request_exception = False
    # No fixture opens a database: the page breaks.
    answer = client.get("/environments/connect-four/")
    assert answer.status_code == 500
    trace, ended = written()[-2:]
    assert (trace["logger"], trace["request_id"]) == ("django.request", answer.headers["X-Request-ID"])
    assert "Traceback" in trace["exc_info"]
    assert (ended["message"], ended["level"], ended["status_code"]) == ("request_failed", "ERROR", 500)


def test_the_secret_part_of_a_link_is_not_logged(db: None, client: Client, written: Lines_) -> None:
    client.get("/password-reset/MQ/a-secret-token/")
    assert [line["path"] for line in written() if line["message"] == "request_completed"] == ["/password-reset/MQ/.../"]
    assert "a-secret-token" not in json.dumps(written())


def test_monitors_and_style_sheets_leave_no_lines(db: None, client: Client, written: Lines_) -> None:
    client.get("/health/live")
    client.get("/static/web/site.css")
    assert not [line for line in written() if line["message"].startswith("request_")]


# --- Jobs -----------------------------------------------------------------------------------------------------


@pytest.fixture
def build(transactional_db: None) -> Build:
    submission: Submission = factories.submission(factories.agent(factories.user("ann"), factories.environment()))
    return factories.build(submission, state="QUEUED")  # type: ignore[arg-type]


def events(written: Lines_) -> list[dict[str, Any]]:
    return [line for line in written() if line["logger"] == job_logger.name]


def test_every_line_of_a_job_says_which_it_is(build: Build, written: Lines_) -> None:
    def action(job: Build, lease: Lease) -> None:
        bind(stage="build", container_id="0a1b")
        logging.getLogger("a.library").warning("by the way")
        job_succeed(job=job)

    perform_one(Build, build.pk, action)

    started, ended = events(written)
    assert (started["message"], ended["message"]) == ("job_started", "job_succeeded")
    between = next(line for line in written() if line["logger"] == "a.library")
    for line in (started, between, ended):
        assert (line["job_kind"], line["job_id"], line["attempt"]) == ("build", build.pk, 1)
        assert line["submission_id"] == build.submission_id
        assert line["env_id"] == build.submission.agent.environment.env_id
        assert line["worker"]
    assert (started["stage"], between["stage"], ended["stage"]) == ("start", "build", "build")
    assert (between["container_id"], ended["container_id"]) == ("0a1b", "0a1b")
    assert ended["duration_ms"] >= 0


def test_what_becomes_of_a_job_is_an_event_of_its_own(build: Build, written: Lines_) -> None:
    def trouble(job: Build, lease: Lease) -> None:
        raise PlatformFault("No archive.", code="archive_missing")

    perform_one(Build, build.pk, trouble)
    retried = events(written)[-1]
    assert (retried["message"], retried["level"], retried["error_code"]) == (
        "job_retried",
        "INFO",
        "archive_missing",
    )

    Build.objects.update(not_before=None)
    perform_one(Build, build.pk, lambda job, _: job_fail(job=job, fault=JobFault.PLAYER, code="no_wheel", error="No."))
    failed = events(written)[-1]
    assert (failed["message"], failed["level"], failed["fault"], failed["attempt"]) == (
        "job_failed",
        "INFO",
        "PLAYER",
        2,
    )


def test_a_job_that_its_worker_has_lost_is_told_apart_from_one_that_is_done(build: Build, written: Lines_) -> None:
    def action(job: Build, lease: Lease) -> None:
        factories.moved(Build.objects.all(), JobState.CANCELLED)
        job_succeed(job=job)

    perform_one(Build, build.pk, action)
    assert events(written)[-1]["message"] == "job_refused"


def test_the_thread_that_keeps_a_job_alive_knows_which(build: Build, written: Lines_) -> None:
    def action(job: Build, lease: Lease) -> None:
        # Another worker has it by now, and the next heartbeat finds out.
        factories.moved(Build.objects.all(), JobState.CANCELLED)
        lease.log("news")
        lease.lost.wait()
        logging.getLogger("here").warning("lost")
        lease.raise_if_lost()

    seen: list[object] = []
    beat = Lease.beat

    def remembered(self: Lease) -> None:
        seen.append(bound_fields().get("job_id"))
        beat(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lease, "beat", remembered)
        perform_one(Build, build.pk, action)
    assert set(seen) == {build.pk}


def test_in_batches_lines_keep_their_order_and_grave_ones_do_not_wait() -> None:
    console, stream, written = Console(), StringIO(), Event()
    console.setStream(stream)
    stream.flush = written.set  # type: ignore[method-assign]
    console.setFormatter(logging.Formatter("%(message)s"))

    def say(level: int, message: str) -> str:
        console.handle(logging.makeLogRecord({"levelno": level, "msg": message}))
        return stream.getvalue()

    assert say(logging.INFO, "at once") == "at once\n"
    console.flush_in_batches()
    for number in range(100):
        say(logging.INFO, str(number))
    first = "at once\n" + "".join(f"{number}\n" for number in range(100))
    assert say(logging.ERROR, "grave") == f"{first}grave\n"
    console.flush()
    written.clear()
    say(logging.INFO, "later")
    assert written.wait(30)
    say(logging.INFO, "at the end")
    console.flush()
    assert stream.getvalue() == f"{first}grave\nlater\nat the end\n"


def test_in_batches_an_answer_is_counted_and_has_the_same_line(
    written: Lines_, monkeypatch: pytest.MonkeyPatch
) -> None:
    console, stream = Console(), StringIO()
    console.setStream(stream)
    console.setFormatter(JsonLines())
    counted: list[int] = []
    fields = {"status_code": 200, "user": 7}
    with bound(request_id="abc", path=HOSTILE):
        request_log(logging.INFO, "request_completed", fields, count=lambda: counted.append(0))
        monkeypatch.setattr(logs, "_batches", console)
        console._more = Event()
        for level in (logging.INFO, logging.DEBUG):
            request_log(level, "request_completed", fields, count=lambda: counted.append(1))
        assert counted == [0]
        request_log(logging.ERROR, "request_failed", {"status_code": 500}, count=lambda: counted.append(2))
    console.flush()
    assert counted == [0, 2, 1, 1]
    # Errors go the way of all records: to mails and Sentry, too.
    assert [line["message"] for line in written()] == ["request_completed", "request_failed"]
    [line] = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert line | {"time": ""} == written()[0] | {"time": ""}
    assert line["time"][:10] == written()[0]["time"][:10]


def test_counts_that_fail_and_lines_that_cannot_be_made_cost_no_other_line() -> None:
    console, stream = Console(), StringIO()
    console.setStream(stream)
    console.setFormatter(logging.Formatter("%(message)s"))
    console._more = Event()

    def failed() -> str:
        console.handle(logging.makeLogRecord({"levelno": logging.WARNING, "msg": "not counted"}))
        return "answer"

    console.write(logging.INFO, failed)
    console.write(logging.INFO, lambda: str(1 / 0))
    console.write(logging.INFO, lambda: "last")
    console.flush()
    broken = "A line of the log could not be made: ZeroDivisionError."
    assert stream.getvalue().splitlines() == ["answer", broken, "last", "not counted"]


def test_processes_that_share_a_full_pipe_do_not_tear_each_others_lines() -> None:
    source, sink = os.pipe()
    streams = [os.fdopen(os.dup(sink), "w") for _ in range(2)]
    at_once = Barrier(2)

    def fill(stream: TextIO, sign: str) -> None:
        with stream:
            console = Console()
            console.setStream(stream)
            console._lines.extend([lambda: sign * 300] * 2_000)
            at_once.wait()
            console.flush()

    threads = [Thread(target=fill, args=pair) for pair in zip(streams, "aä", strict=True)]
    for thread in threads:
        thread.start()
    while select([], [sink], [], 0)[1]:
        continue  # until the pipe is full
    os.close(sink)
    with os.fdopen(source) as read:
        seen = Counter(read)
    for thread in threads:
        thread.join()
    assert seen == {"a" * 300 + "\n": 2_000, "ä" * 300 + "\n": 2_000}


def test_a_stream_that_is_closed_takes_no_lines_and_ends_no_request() -> None:
    console, stream = Console(), StringIO()
    console.setStream(stream)
    stream.close()
    console.write(logging.ERROR, lambda: "lost")
    console.stream = None  # type: ignore[assignment]  # as sys.stderr is for a program that was started without one
    console.write(logging.ERROR, lambda: "lost")
    console.stream = StringIO()
    console.write(logging.ERROR, lambda: "seen")
    assert console.stream.getvalue() == "seen\n"
