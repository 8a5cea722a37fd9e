"""A worker that is asked to stop, as every upgrade does it: a real cluster with real players."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from arena_kit.image.engine import connect
from arena_kit.sandbox.labelled import labelled_processes
from core.jobs.lifecycle import job_claim, job_enqueue
from core.jobs.selectors import attempts_of
from core.models import Agent, Build, JobFault, JobState, Publication, Validation
from core.tests.working import run
from duel_runner.workplace import worker_label
from tests.programs import ROOT, database_url
from tests.samples import FIRST, tic_tac_toe, upload
from tests.waiting import wait_until

SLOW = FIRST.replace("return valid_actions", "__import__('time').sleep(0.01); return valid_actions")
DEADLINE_SECONDS = 120
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(
    params=[pytest.param("process", marks=pytest.mark.nightly), pytest.param("docker", marks=pytest.mark.docker)]
)
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
    }


def players_left(sandbox: str) -> list[str]:
    """What runs for workers of this arena: processes or containers."""
    if sandbox == "process":
        return [str(pid) for pid, _ in labelled_processes(worker_label())]
    client = connect()
    try:
        return [str(row.id) for row in client.containers.list(all=True, filters={"label": worker_label()})]
    finally:
        client.close()


@contextmanager
def at_work(variables: dict[str, str], *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program of workers, killed with everything it has started where it does not end by itself."""
    worker = subprocess.Popen(
        [sys.executable, "manage.py", *command], cwd=ROOT, env={**os.environ, **variables}, start_new_session=True
    )
    try:
        yield worker
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


def validating(matches: int) -> None:
    """Have a slow player built, that its validation takes long."""
    environment = tic_tac_toe()
    environment.matches_per_validation = matches
    environment.save()
    upload(environment, "slow", SLOW)
    run(Build.objects.get())


def stop_amid_validation(variables: dict[str, str], *, matches_done: int) -> None:
    """Ask a worker to stop once it has played some matches, and wait for its end."""
    with at_work(variables, "run_workers", "duel") as worker:
        wait_until(Validation.objects.filter(state=JobState.RUNNING, matches_done__gte=matches_done).exists)
        assert players_left(variables["SANDBOX"]) or not matches_done
        worker.send_signal(signal.SIGTERM)
        worker.wait(DEADLINE_SECONDS)


def test_a_worker_that_is_asked_to_stop_gives_its_job_back_and_leaves_no_player(variables: dict[str, str]) -> None:
    validating(matches=100_000)

    stop_amid_validation({**variables, "STOP_GRACE_SECONDS": "12"}, matches_done=1)

    validation = Validation.objects.get()
    assert (validation.state, validation.attempt, validation.fault) == (JobState.QUEUED, 0, JobFault.NONE)
    assert (validation.claim_token, validation.error_code) == (None, "worker_stopped")
    assert [attempt.code for attempt in attempts_of(validation)] == ["worker_stopped"]
    assert players_left(variables["SANDBOX"]) == []
    # It is not delayed: the next worker may have it. The lookout of its cluster may have woken it in the last second.
    assert job_claim(kind=Validation, job_id=validation.pk, worker="next") is not None


@pytest.mark.parametrize("variables", ["process"], indirect=True)
@pytest.mark.nightly
def test_what_can_end_within_the_grace_is_finished(variables: dict[str, str]) -> None:
    validating(matches=50)

    stop_amid_validation({**variables, "STOP_GRACE_SECONDS": str(2 * DEADLINE_SECONDS)}, matches_done=0)

    validation = Validation.objects.get()
    assert (validation.state, validation.matches_done, validation.history) == (JobState.SUCCEEDED, 50, [])
    assert players_left(variables["SANDBOX"]) == []


@pytest.mark.nightly
def test_a_job_whose_program_is_deaf_is_given_back_before_its_worker_is_killed(
    tmp_path: Path, settings: Settings
) -> None:
    """The push to a remote that does not answer: no thread of the worker looks whether it shall stop."""
    settings.DATA_DIR, settings.MEDIA_ROOT = tmp_path, tmp_path / "files"
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(f"#!/bin/sh\necho > {tmp_path}/called\nexec sleep 600\n")
    git.chmod(0o700)
    submission = upload(tic_tac_toe(), "public", FIRST)
    Agent.objects.update(is_public=True)
    publication = Publication.objects.create(submission=submission)
    job_enqueue(job=publication)
    variables = {
        "DEBUG": "true",
        "DATABASE_URL": database_url(),
        "DATA_DIR": str(tmp_path),
        "PATH": f"{git.parent}:{os.environ['PATH']}",
        "PUBLISHER_REMOTE": "ssh://nobody.invalid/agents.git",
        # Handed back at three quarters of it, killed at its end: both on a busy machine.
        "STOP_GRACE_SECONDS": "16",
    }

    with at_work(variables, "run_workers", "publish") as workers:
        wait_until((tmp_path / "called").exists)
        workers.send_signal(signal.SIGTERM)
        assert workers.wait(DEADLINE_SECONDS) == 0

    publication.refresh_from_db()
    assert (publication.state, publication.attempt, publication.fault) == (JobState.QUEUED, 0, JobFault.NONE)
    assert [attempt.code for attempt in attempts_of(publication)] == ["worker_stopped"]
