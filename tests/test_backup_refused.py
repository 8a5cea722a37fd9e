"""Backups and restores under what stands in their way: workers that live, other connections, stores in trouble."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.files.storage import Storage, default_storage, storages
from django.core.management import CommandError
from django.db import connection
from pytest_django.fixtures import Settings

from core.jobs.workers import worker_appear, worker_stop
from core.operations.backup import in_use
from core.operations.backup.archive import reading
from core.operations.backup.make import backup_make
from tests.backups import arena, files, run, state

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("store"),
    pytest.mark.both_databases,
    pytest.mark.slow,
]
NOW = datetime(2020, 11, 21, 16, 30, tzinfo=UTC)


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup of an arena with something in it, which is still there."""
    arena()
    path = tmp_path / "arena.tar"
    run("backup", path)
    return path


def test_nothing_is_put_back_under_a_worker_that_lives_or_unless_forced_while_others_are_connected(
    backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = worker_appear(name="host:1", host="host", pid=1, queue="duel", version="1", python="3")
    before = state()
    with pytest.raises(CommandError, match=r"Workers are running, .*host:1\. Stop site and workers first"):
        run("restore", backup, "--replace")
    assert state() == before
    worker_stop(worker=worker)

    monkeypatch.setattr(in_use, "PATIENCE_SECONDS", 0.2)
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM core_user")
            cursor.fetchall()
        with pytest.raises(CommandError, match="Other programs are connected"):
            run("restore", backup, "--replace")
        assert "is restored with" in run("restore", backup, "--replace", "--force")
    finally:
        other.close()


def test_a_file_that_the_store_does_not_give_is_said_and_costs_no_other(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = sorted(name for name in files() if name.endswith("records.zip"))
    bad, gone = names[0], names[1]
    default_storage.delete(gone)
    kind = type(storages["default"])
    size = kind.size

    class ClientError(Exception):
        """As of a store of objects: no OSError, also for what is not there."""

    def size_of_others(store: Storage, name: str) -> int:
        if name in (bad, gone):
            raise ClientError("refused")
        return size(store, name)

    folder = tmp_path / "backups"
    folder.mkdir()
    backup_make(folder, now=NOW)
    with monkeypatch.context() as patch:
        patch.setattr(kind, "size", size_of_others)
        with pytest.raises(CommandError, match="lacks 1 files .* no older one was deleted"):
            run("backup", folder, "--keep", "1")
    old, new = sorted(folder.iterdir())
    with reading(new) as made, reading(old) as whole:
        assert made.manifest.missing == [bad, gone]
        assert whole.manifest.missing == [gone]
        assert set(made.files()) == set(whole.files()) - {bad}

    def fail(*_: object) -> bool:
        raise ClientError("refused")

    with monkeypatch.context() as patch:
        patch.setattr(kind, "exists", fail)
        with pytest.raises(CommandError, match="The store fails for .*ClientError: refused"):
            run("restore", old, "--replace")


def test_a_store_that_is_not_there_does_not_push_out_the_backups_that_have_it_all(
    tmp_path: Path, settings: Settings
) -> None:
    arena()
    folder = tmp_path / "backups"
    folder.mkdir()
    whole = backup_make(folder, now=NOW)
    settings.MEDIA_ROOT = tmp_path / "not mounted"
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "core.files.storage.LocalStorage"}}
    with pytest.raises(CommandError, match="The store has no file that the rows name.* no older one was deleted"):
        run("backup", folder, "--keep", "1")
    assert whole.path.exists()
    assert len(list(folder.iterdir())) == 2
