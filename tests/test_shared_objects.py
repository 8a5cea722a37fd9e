"""Workers without a shared disk, in processes of their own, play a tournament: they meet at the object store alone."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from core.duels.selectors import records_open
from core.models import Duel, JobState, LedgerEntry, Tournament, TournamentState, Validation
from core.tests.working import run
from tests.object_stores import StoreServer
from tests.programs import database_url, running
from tests.samples import FIRST, LAST, MIDDLE, SECOND, tic_tac_toe, upload

pytestmark = [
    pytest.mark.docker, pytest.mark.object_store, pytest.mark.postgres, pytest.mark.nightly, pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]  # fmt: skip
DEADLINE_SECONDS = 300
SLOWLY = "__import__('time').sleep(0.05); return valid_actions"
"""So that one worker cannot play everything before the other has started."""


def test_two_workers_without_a_shared_disk_play_a_tournament(
    store_server: StoreServer, settings: Settings, tmp_path: Path
) -> None:
    prefix = "without-a-shared-disk"
    settings.SANDBOX, settings.DEBUG = "docker", True
    settings.DATA_DIR, settings.MEDIA_ROOT = tmp_path / "site", tmp_path / "site/files"
    settings.STORAGES = {**settings.STORAGES, "default": store_server.storages(prefix)}
    environment = tic_tac_toe()
    for name, source in (("first", FIRST), ("second", SECOND), ("middle", MIDDLE), ("last", LAST)):
        run(upload(environment, name, source.replace("return valid_actions", SLOWLY)).builds.get())
    variables = {
        "DEBUG": "true",
        "SANDBOX": "docker",
        "DATABASE_URL": database_url(),
        "STORAGE": f"{store_server.address}/{prefix}",
        "PLAYER_IMAGE_PREFIX": settings.PLAYER_IMAGE_PREFIX,
        "DUEL_PARALLELISM": "1",
    }
    with ExitStack() as stack:
        for number, queue in enumerate(("duel", "duel", "tournament")):
            data, channels = tmp_path / f"host{number}", settings.CHANNEL_DIR / f"h{number}"
            data.mkdir()
            own = {"DATA_DIR": str(data), "CHANNEL_DIR": str(channels)}
            stack.enter_context(running({**variables, **own}, "manage.py", "run_workers", queue))
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not Tournament.objects.filter(state=TournamentState.FINISHED).exists():
            assert time.monotonic() < deadline
            time.sleep(0.2)
    duels = Duel.objects.filter(tournament=Tournament.objects.filter(state=TournamentState.FINISHED).first())
    assert set(duels.values_list("state", "attempt")) == {(JobState.SUCCEEDED, 1)}
    assert duels.count() == 6
    assert LedgerEntry.objects.filter(duel__in=duels).values("duel").distinct().count() == 6
    for duel in duels:
        # It is on the disk of no worker, only in the store.
        with records_open(duel) as archive:
            assert archive.match_count == duel.match_count
    workers = {*Duel.objects.values_list("worker", flat=True), *Validation.objects.values_list("worker", flat=True)}
    assert len(workers) == 2, workers
    assert not list(tmp_path.rglob("records.zip"))
