"""The site and its workers as those who watch them see them: real processes, asked over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import Counter, Histogram
from prometheus_client.parser import text_string_to_metric_families
from pytest_django.fixtures import Settings

from core.models import Build, JobState
from core.monitoring import metrics
from core.operations.figures import ArenaFigures
from tests.programs import answers, database_url, free_port, running
from tests.samples import FIRST, tic_tac_toe, upload
from tests.waiting import wait_until
from tests.watching import OF_EXPORTERS, alert_rules, dashboard_queries

ROOT = Path(__file__).resolve().parent.parent
TOKEN = "a-token-for-this-test"


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return {
        "DEBUG": "false",
        "SECRET_KEY": "a-key-for-this-test-alone-0123456789-abcdefghijklmnop",
        "ALLOWED_HOSTS": "arena.example.org",
        "DATA_DIR": str(tmp_path),
        "METRICS_DIR": str(tmp_path / "metrics"),
        "METRICS_TOKEN": TOKEN,
        "REDIS_URL": "",
        "LOGS": "format=json",
        "TRUSTED_PROXIES": "1",
    }


def get(port: int, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) as site:
        site.request("GET", path, headers=headers)
        answer = site.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())


def scrape(port: int) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    status, text, _ = get(port, "/metrics", Authorization=f"Bearer {TOKEN}")
    assert status == 200, text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def figure(port: int, name: str, **labels: str) -> float:
    return scrape(port).get((name, frozenset(labels.items())), 0.0)


def children(process: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def gunicorn(port: int, workers: int) -> list[str]:
    # With the hooks of compose: lines and counts are written in batches.
    processes = ["--workers", str(workers), "--threads", "4", "--timeout", "120", "--config=python:core.handover"]
    return ["-m", "gunicorn", "core.wsgi", "--bind", f"127.0.0.1:{port}", *processes]


# --- The site -------------------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
def test_two_processes_of_the_site_count_as_one_also_after_one_was_killed(
    variables: dict[str, str], tmp_path: Path
) -> None:
    port, log = free_port(), tmp_path / "log"
    # A site does not start on a database without tables.
    variables["DATABASE_URL"] = database_url()
    with log.open("wb") as output, running(variables, *gunicorn(port, 2), output=output) as site:
        wait_until(lambda: answers(port), "the site")
        wait_until(lambda: len(children(site.pid)) == 2, "two processes")

        def live() -> float:
            return figure(port, "http_requests_total", handler="web:live", method="GET", status="200")

        for _ in range(40):
            assert get(port, "/health/live")[0] == 200
        # Whichever of the two answers.
        wait_until(lambda: {live() for _ in range(10)} == {40}, "the counts of both")

        victims = children(site.pid)
        os.kill(victims[0], signal.SIGKILL)
        wait_until(lambda: len(children(site.pid)) == 2 and victims[0] not in children(site.pid), "a successor")
        for _ in range(40):
            assert get(port, "/health/live")[0] == 200
        wait_until(lambda: {live() for _ in range(10)} == {80}, "the counts of all three")
        assert len(list((tmp_path / "metrics").glob("counter_*.db"))) == 2

        assert get(port, "/metrics")[0] == 403
        # The line of a request carries the id that its proxy gave it.
        _, _, headers = get(port, "/nowhere/", Host="arena.example.org", **{"X-Request-ID": "id-of-the-proxy"})
        assert headers["X-Request-ID"] == "id-of-the-proxy"
    # The rest is gunicorn's, from before it has loaded the site.
    ours: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    ended = next(line for line in ours if line.get("request_id") == "id-of-the-proxy" and "status_code" in line)
    assert (ended["service"], ended["path"], ended["method"]) == ("site", "/nowhere/", "GET")


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


@pytest.mark.nightly
def test_a_database_and_a_queue_that_hang_hold_up_no_monitor(variables: dict[str, str], silent_port: int) -> None:
    port = free_port()
    broken = {
        "DATABASE_URL": f"postgresql://arena:q7Rz-hangs-29@127.0.0.1:{silent_port}/arena",
        "REDIS_URL": f"redis://127.0.0.1:{silent_port}/0",
    }
    with running({**variables, **broken}, *gunicorn(port, 1)):
        wait_until(lambda: answers(port), "the site")
        # Who answers has loaded the site by then.
        get(port, "/health")
        for _ in range(2):
            status, text, _ = get(port, "/health")
            found = json.loads(text)["components"]
            assert (status, found["database"], found["redis"], found["broker"], found["storage"]) == (
                503, "unhealthy", "unhealthy", "unhealthy", "healthy",
            )  # fmt: skip
            assert get(port, "/health/live")[0] == 200
        found = scrape(port)
        for component, value in {"database": 0, "broker": 0, "storage": 1}.items():
            assert found["component_healthy", frozenset({("component", component)})] == value


# --- Workers --------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.nightly
def test_what_forked_workers_count_can_be_read_at_the_port_of_their_program(
    variables: dict[str, str], settings: Settings, tmp_path: Path
) -> None:
    settings.SANDBOX, settings.DATA_DIR, settings.MEDIA_ROOT = "process", tmp_path, tmp_path / "files"
    environment = tic_tac_toe()
    upload(environment, "first", FIRST)
    port, log = free_port(), tmp_path / "log"
    mine = {
        "DEBUG": "true",
        # Messages are signed with it.
        "SECRET_KEY": settings.SECRET_KEY,
        "SANDBOX": "process",
        "DATABASE_URL": database_url(),
        "METRICS_PORT": str(port),
        "CHANNEL_DIR": str(settings.CHANNEL_DIR),
    }
    with (
        log.open("wb") as output,
        running({**variables, **mine}, "manage.py", "run_workers", "build", output=output),
    ):
        wait_until(Build.objects.filter(state=JobState.SUCCEEDED).exists, "a build")
        labels = {"kind": "build", "state": "SUCCEEDED", "fault": "NONE"}
        wait_until(lambda: figure(port, "jobs_finished_total", **labels) == 1, "its count")
        assert figure(port, "jobs_started_total", kind="build") == 1
        assert get(port, "/metrics")[0] == 403
        assert get(port, "/")[0] == 404
    found = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    ended = next(line for line in found if line["message"] == "job_succeeded")
    assert (ended["service"], ended["job_kind"], ended["job_id"]) == ("worker-build", "build", Build.objects.get().pk)


# --- Dashboards and alerts ------------------------------------------------------------------------------------

FUNCTIONS = frozenset({
    "sum", "avg", "rate", "increase", "max", "min", "by", "le", "histogram_quantile", "avg_over_time", "and", "or",
    "time",
})  # fmt: skip


def names_used(expression: str) -> set[str]:
    """The metrics of a PromQL expression."""
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\bby\s*\([^)]*\)|\"[^\"]*\"", " ", expression)
    return set(re.findall(r"[a-zA-Z_:][a-zA-Z0-9_:]*", bare)) - FUNCTIONS


def base_name(metric: Counter | Histogram) -> str:
    return next(iter(metric.describe())).name


def names_shown() -> set[str]:
    """What the arena can show: counted, or found at the moment of a scrape."""
    counted = [one for one in vars(metrics).values() if isinstance(one, Counter | Histogram)]
    names = {family.name for family in ArenaFigures().collect()}
    for one in counted:
        base = base_name(one)
        is_counter = isinstance(one, Counter)
        names |= {f"{base}_total"} if is_counter else {f"{base}_{part}" for part in ("bucket", "sum", "count")}
    return names


def expressions() -> Iterator[tuple[str, str]]:
    yield from dashboard_queries("prometheus")
    for name, rule in alert_rules().items():
        yield f"alerts.yml: {name}", rule["expr"]


@pytest.mark.django_db(transaction=True)
def test_dashboards_and_alerts_use_only_what_is_measured_and_all_that_is_measured_is_explained() -> None:
    shown, of_prometheus = names_shown(), {"up", *OF_EXPORTERS}
    used = list(expressions())
    assert len(used) > 50
    for where, expression in used:
        assert names_used(expression), where
        assert names_used(expression) <= shown | of_prometheus, where
    explained = (ROOT / "docs/reference/metrics.md").read_text()
    bases = {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown}
    assert {name for name in bases if f"`{name}" not in explained} == set()


def test_the_names_that_existing_dashboards_know_are_kept() -> None:
    known = {
        "submissions_received_total": ("mode",),
        "submissions_validation_failures_total": ("reason",),
        "submissions_upload_bytes_total": (),
        "evaluation_started_total": (),
        "evaluation_completed_total": ("env_id",),
        "evaluation_failed_total": ("reason",),
        "leaderboard_queries_total": ("env_id", "sort"),
        "evaluation_duration_seconds": ("env_id",),
        "leaderboard_query_duration_seconds": (),
    }
    counted = [one for one in vars(metrics).values() if isinstance(one, Counter | Histogram)]
    found = {base_name(one) + ("_total" if isinstance(one, Counter) else ""): one._labelnames for one in counted}
    assert {name: found.get(name) for name in known} == known
    assert metrics.EVALUATION_DURATION._upper_bounds == [0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, float("inf")]
