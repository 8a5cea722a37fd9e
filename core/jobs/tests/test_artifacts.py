"""Files of played jobs: named by a row, or gone."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.db import OperationalError
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.environment.records import DuelRecord, MatchRecord, Outcome, record_sha256
from core.duels.services import duel_succeed
from core.errors import StoreFailed
from core.jobs import messages as queues
from core.jobs.artifacts import artifacts_stored, artifacts_sweep, store_is_down
from core.jobs.control import job_requeue
from core.jobs.lifecycle import job_claim, job_give_back, job_give_back_stopped
from core.jobs.states import StaleJob
from core.models import Duel, JobState, Submission, Validation
from core.submissions.phases import build_succeed
from core.tests import factories
from core.tournaments.services import tournament_create
from core.tournaments.strikes import duel_play_again, duel_void

pytestmark = pytest.mark.both_databases

RECORD = DuelRecord(
    "tic-tac-toe-v1", 1, ("one", "two"), (MatchRecord(1, 1, (0, 1), (), Outcome.PLAYER_1, (1.0, -1.0)),)
)
DIGESTS = ("sha256:1", "sha256:2")


@pytest.fixture
def files(settings: Settings, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def running(players: list[Submission]) -> Duel:
    tournament = tournament_create(
        environment=players[0].agent.environment, edition=1, submissions=players, rounds=[[(players[0], players[1])]],
        seed=3,
    )  # fmt: skip
    duel = job_claim(kind=Duel, job_id=tournament.duels.get().pk, worker="worker-1")
    assert duel is not None
    return duel


def finish(duel: Duel) -> None:
    with artifacts_stored(job=duel, record=RECORD, player_logs=("hello", ""), digests=DIGESTS) as artifacts:
        duel_succeed(duel=duel, record=RECORD, artifacts=artifacts, log="")


def stored(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "duels").rglob("*") if path.is_file())


@pytest.mark.django_db
def test_a_finished_duel_names_its_files_images_and_hash(files: Path, players: list[Submission]) -> None:
    duel = running(players)

    finish(duel)

    duel.refresh_from_db()
    assert stored(files) == ["player_1.log", "records.zip"]
    assert (duel.player_1_digest, duel.player_2_digest) == DIGESTS
    assert duel.record_sha256 == record_sha256(RECORD)
    assert (bool(duel.records), bool(duel.player_1_log), bool(duel.player_2_log)) == (True, True, False)


@pytest.mark.django_db
def test_the_files_of_a_result_that_came_too_late_are_deleted(files: Path, players: list[Submission]) -> None:
    duel = running(players)
    job_requeue(job=Duel.objects.get(pk=duel.pk), reason="The worker was taken for dead.")

    with pytest.raises(StaleJob):
        finish(duel)

    assert stored(files) == []


@pytest.mark.django_db(transaction=True)
def test_files_of_a_result_that_was_written_stay_although_its_message_could_not_be_sent(
    files: Path, players: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("server closed the connection")

    duel = running(players)
    monkeypatch.setattr(queues, "async_task", away)

    finish(duel)

    duel.refresh_from_db()
    assert duel.state == JobState.SUCCEEDED
    with duel.records.open("rb") as file:
        assert file.read(2) == b"PK"


@pytest.mark.django_db
def test_played_jobs_carry_the_rules_of_the_moment_they_were_made(players: list[Submission]) -> None:
    environment = players[0].agent.environment
    duel = running(players)
    environment.version = 2
    environment.save()
    factories.moved(Duel.objects.filter(pk=duel.pk), JobState.SUCCEEDED)
    duel_void(duel=Duel.objects.get(pk=duel.pk), reason="The clock was wrong.", user=None)

    again = duel_play_again(duel=Duel.objects.get(pk=duel.pk))
    build = factories.build(Submission.objects.get(pk=players[0].pk), JobState.RUNNING)
    build_succeed(build=build, image="player", digest="sha256:3", warnings=[], log="")
    validation = Validation.objects.latest("pk")

    assert isinstance(validation, Validation)
    assert duel.environment_version == again.environment_version == "tic-tac-toe-v1"
    assert validation.environment_version == "tic-tac-toe-v2"


@pytest.fixture
def full_store(files: Path, players: list[Submission], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with room for a few bytes of every file, after the uploads."""
    write = io.BufferedWriter.write

    def write_a_little(file: Any, data: bytes) -> int:
        write(file, bytes(data)[:4])
        raise OSError(errno.ENOSPC, "No space left on device")

    def opened(descriptor: int, mode: str = "r", *arguments: object, **named: object) -> object:
        file = fdopen(descriptor, mode)
        if "w" in mode:
            file = cast(Any, SimpleNamespace(write=partial(write_a_little, file), close=file.close))
        return file

    fdopen = os.fdopen
    monkeypatch.setattr("django.core.files.storage.filesystem.os.fdopen", opened)
    return files


@pytest.mark.django_db
def test_a_full_store_is_the_platforms_fault_and_keeps_no_part_of_a_file(
    full_store: Path, players: list[Submission]
) -> None:
    duel = running(players)
    with pytest.raises(StoreFailed) as failure:
        finish(duel)
    assert failure.value.code == "store_full"
    assert stored(full_store) == []
    assert store_is_down()
    duel.refresh_from_db()
    assert duel.state == JobState.RUNNING


@pytest.mark.django_db
def test_a_store_that_takes_a_file_is_not_down_and_keeps_nothing_of_the_trial(files: Path) -> None:
    assert not store_is_down()
    assert [path for path in files.rglob("*") if path.is_file()] == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    "leave",
    [
        lambda duel: job_give_back(
            job=duel, code="worker_lost", error="The worker stopped answering.", is_delayed=False
        ),
        lambda duel: job_requeue(job=duel, reason="An organiser has requeued it."),
        lambda duel: job_give_back_stopped(job=duel),
    ],
)
def test_what_a_killed_worker_has_stored_is_swept_and_what_rows_name_stays(
    leave: Callable[[Duel], None], files: Path, players: list[Submission]
) -> None:
    duel = running(players)
    torn = files / "duels" / str(duel.pk) / str(duel.claim_token) / "records.zip"
    torn.parent.mkdir(parents=True)
    torn.write_bytes(b"PK")
    leave(duel)
    assert artifacts_sweep() == 0
    again = job_claim(kind=Duel, job_id=duel.pk, worker="worker-2")
    assert again is not None
    finish(again)
    # A worker that was only slow may still delete its own.
    assert artifacts_sweep() == 0

    Duel.objects.update(ended_at=timezone.now() - timedelta(hours=1))
    assert artifacts_sweep() == 1
    assert not torn.parent.exists()
    assert stored(files) == ["player_1.log", "records.zip"]
    assert artifacts_sweep() == 0
