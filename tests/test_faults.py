"""The benchmark of faults in short, and what happens where one worker is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from core.jobs.messages import task_request, waiting_count
from core.jobs.worker_selectors import workers_alive
from tests.postgres import NoPostgres, postgres_programs
from tests.programs import ROOT, database_url
from tests.season.services import CannotRun, needed_programs
from tests.waiting import wait_until

KINDS = (
    "worker killed mid-duel", "result and ack", "half written", "container killed", "connections cut", "flushed",
    "twice", "store full", "database restarted",
)  # fmt: skip
OF_SCALER = ("scale", "killed mid-duel")
OF_BUCKET = ("artifact store", "half written", "killed mid-duel", "killed before")


def short_season(figures: Path, *options: str) -> dict[str, Any]:
    """Play a short season under faults and return its report; the test fails if the season does."""
    try:
        needed_programs()
        postgres_programs()
    except (CannotRun, NoPostgres) as reason:
        pytest.skip(str(reason))
    command = [sys.executable, "-m", "benchmarks.faults", "--short", "--hasty", "--minutes", "3"]
    done = subprocess.run(
        [*command, *options, "--json", str(figures)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    report: dict[str, Any] = json.loads(figures.read_text())
    assert (report["lost"], report["duplicated"], report["leftovers"]) == (0, 0, 0), report["findings"]
    assert report["standings_equal"]
    assert report["duels"] >= 18
    return report


@pytest.mark.nightly
@pytest.mark.docker
@pytest.mark.redis
def test_nothing_is_lost_doubled_left_over_or_different_when_everything_fails(tmp_path: Path) -> None:
    report = short_season(tmp_path / "faults.json", "--faults", "9", "--kinds", ",".join(KINDS))
    assert report["injected"] >= 6


@pytest.mark.nightly
@pytest.mark.docker
@pytest.mark.redis
@pytest.mark.object_store
def test_nothing_is_lost_or_left_in_a_bucket_when_the_object_store_and_its_workers_fail(tmp_path: Path) -> None:
    words = ["--storage", "s3", "--faults", "8", "--kinds", ",".join(OF_BUCKET)]
    report = short_season(tmp_path / "faults.json", *words)
    assert report["storage"] == "s3"
    assert report["injected"] >= 5
    assert {kind for kind in report["kinds"] if kind.startswith("artifact store")}
    assert "artifact half written" in report["kinds"]


@pytest.mark.nightly
@pytest.mark.docker
@pytest.mark.redis
def test_nothing_is_lost_or_left_while_a_scaler_and_its_hosts_come_and_go(tmp_path: Path) -> None:
    report = short_season(tmp_path / "faults.json", "--scaler", "--faults", "8", "--kinds", ",".join(OF_SCALER))
    assert {"scaler killed"} < {kind for kind in report["kinds"] if kind.startswith("scale")}
    of_scaler = report["scaler"]
    assert of_scaler["duels"] >= 1
    assert of_scaler["hosts"] == of_scaler["ended"] + of_scaler["failed"] >= 2


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in found.split()]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_worker_that_is_killed_is_replaced_alone_and_its_work_goes_on(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    variables = {
        "DEBUG": "true", "DATABASE_URL": database_url(), "DATA_DIR": str(tmp_path), "DUEL_PARALLELISM": "2",
        "CHANNEL_DIR": str(settings.CHANNEL_DIR), "SANDBOX": "process", "TMPDIR": str(tmp_path),
    }  # fmt: skip
    workers = subprocess.Popen(
        [sys.executable, "manage.py", "run_workers", "duel", "tournament"], cwd=ROOT, env={**os.environ, **variables},
        start_new_session=True,
    )  # fmt: skip
    try:
        wait_until(lambda: workers_alive().count() == 3)
        before = dict(workers_alive().values_list("pid", "queue"))
        # It waits for work, as it does most of the time.
        killed = next(pid for pid, queue in before.items() if queue == "tournament")
        os.kill(killed, signal.SIGKILL)
        task_request("tournament", "artifacts_remove_unused")
        wait_until(lambda: waiting_count("tournament") == 0)
        wait_until(lambda: workers_alive("tournament").exclude(pid=killed).exists())
        assert set(before) - {killed} < set(workers_alive().values_list("pid", flat=True))
        assert workers.poll() is None
        processes = children(workers.pid)
        os.kill(workers.pid, signal.SIGKILL)
        # What it has started ends with it.
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes))
    finally:
        if workers.poll() is None:
            os.killpg(workers.pid, signal.SIGKILL)
        workers.wait()
