"""A worker that is asked to stop, as every upgrade does it: a real cluster with real players."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from builder.tasks import build_run
from core.engine import connect
from core.models import Build, JobFault, JobState, Validation
from core.services.jobs import job_claim, jobs_wake_waiting
from duel_runner.bench import worker_label
from duel_runner.sandbox.process import _labelled_processes
from tests.programs import ROOT, database_url
from tests.samples import FIRST, tic_tac_toe, upload

SLOW = FIRST.replace("return valid_actions", "__import__('time').sleep(0.01); return valid_actions")
DEADLINE_SECONDS = 60
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(params=["process", pytest.param("docker", marks=pytest.mark.docker)])
def variables(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> dict[str, str]:
    """The variables of a worker of duels on the database under test."""
    settings.SANDBOX, settings.DEBUG = request.param, True
    settings.DATA_DIR, settings.MEDIA_ROOT = tmp_path, tmp_path / "files"
    return {
        "DEBUG": "true",
        "DATABASE_URL": database_url(),
        "DATA_DIR": str(tmp_path),
        "CHANNEL_DIR": str(settings.CHANNEL_DIR),
        "PLAYER_IMAGE_PREFIX": settings.PLAYER_IMAGE_PREFIX,
        "SANDBOX": request.param,
        "Q_CLUSTER_NAME": "duel",
    }


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def players_left(sandbox: str) -> list[str]:
    """What runs for workers of this arena: processes or containers."""
    if sandbox == "process":
        return [str(pid) for pid, _ in _labelled_processes(worker_label())]
    client = connect()
    try:
        return [str(row.id) for row in client.containers.list(all=True, filters={"label": worker_label()})]
    finally:
        client.close()


def test_a_worker_that_is_asked_to_stop_gives_its_job_back_and_leaves_no_player(variables: dict[str, str]) -> None:
    environment = tic_tac_toe()
    environment.matches_per_validation = 100_000
    environment.save()
    upload(environment, "slow", SLOW)
    build_run(Build.objects.get().pk)

    worker = subprocess.Popen(
        [sys.executable, "manage.py", "qcluster"], cwd=ROOT, env={**os.environ, **variables}, start_new_session=True
    )
    try:
        wait_until(Validation.objects.filter(state=JobState.RUNNING, matches_done__gt=0).exists)
        assert players_left(variables["SANDBOX"])
        worker.send_signal(signal.SIGTERM)
        worker.wait(DEADLINE_SECONDS)
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()

    validation = Validation.objects.get()
    assert (validation.state, validation.attempt, validation.fault) == (JobState.QUEUED, 0, JobFault.NONE)
    assert (validation.claim_token, validation.error_code) == (None, "worker_stopped")
    assert players_left(variables["SANDBOX"]) == []
    # It need not rest: whoever is next may have it.
    assert jobs_wake_waiting(older_than=timedelta(hours=1), queues=[]) == 1
    assert job_claim(kind=Validation, job_id=validation.pk, worker="next") is not None
