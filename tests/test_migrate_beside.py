"""`manage.py migrate` on PostgreSQL beside readers, a backup and another `migrate`."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from core.operations import migrating
from core.operations.backup import database as dumps
from core.operations.backup.errors import BackupError

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
TABLE = "axes_accesslog"


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], bool]]:
    """A database that lacks migrations of axes; the function returns whether it has them by now."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite knows no locks of tables")
    monkeypatch.setattr(migrating, "LOCK_SECONDS", 0.2)
    monkeypatch.setattr(migrating, "PAUSE_SECONDS", 0.2)
    monkeypatch.setattr(migrating, "TRIES", 3)
    (newest,) = MigrationExecutor(connection).loader.graph.leaf_nodes("axes")
    call_command("migrate", "axes", "0005", verbosity=0)
    yield lambda: newest in MigrationRecorder(connection).applied_migrations()
    monkeypatch.undo()
    call_command("migrate", verbosity=0)


@pytest.fixture
def reader(older: object) -> Iterator[BaseDatabaseWrapper]:
    """A connection with an open transaction that has read the table, as that of pg_dump."""
    other = connection.copy()
    other.settings_dict = {**connection.settings_dict, "OPTIONS": {"application_name": "a long report"}}
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute(f"SELECT count(*) FROM {TABLE}")
        yield other
    other.close()


def migrate(said: io.StringIO | None = None) -> None:
    call_command("migrate", verbosity=0, stderr=said or io.StringIO())


def test_a_migration_behind_a_long_reader_is_refused_with_the_process_that_holds_the_table(
    older: Callable[[], bool], reader: BaseDatabaseWrapper
) -> None:
    with reader.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    with pytest.raises(CommandError, match=rf"A table is in use by process {pid} \(a long report of \w+, for \d+ s: "):
        migrate()
    assert not older()
    reader.close()
    migrate()
    assert older()


def test_a_migration_is_tried_again_until_the_reader_has_ended(
    older: Callable[[], bool], reader: BaseDatabaseWrapper, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = io.StringIO()
    # Threads of other tests may sleep meanwhile.
    monkeypatch.setattr("core.operations.migrating.time", SimpleNamespace(sleep=lambda _: reader.close()))
    migrate(said)
    assert older()
    assert "a long report" in said.getvalue()
    assert "2 more tries" in said.getvalue()


def test_the_limit_of_a_migration_does_not_stay_with_the_connection(older: Callable[[], bool]) -> None:
    migrate()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
        assert cursor.fetchone() == (0,)
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)


def test_a_migration_is_refused_at_once_while_a_backup_runs(older: Callable[[], bool], tmp_path: Path) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def files(_: dumps.Query) -> frozenset[str]:
        begun.set()
        may_end.wait(60)
        return frozenset()

    def back_up() -> None:
        try:
            dumps._dump_postgres(tmp_path / "dump", (), files)
        finally:
            begun.set()
            connection.close()

    backup = threading.Thread(target=back_up)
    backup.start()
    try:
        begun.wait(60)
        said = io.StringIO()
        with pytest.raises(CommandError, match="A backup of this database is running"):
            migrate(said)
        assert not older()
        assert said.getvalue() == ""
    finally:
        may_end.set()
        backup.join()
    assert (tmp_path / "dump").stat().st_size
    migrate()
    assert older()


def test_a_backup_and_a_second_migration_are_refused_while_one_is_at_work(
    older: Callable[[], bool], tmp_path: Path
) -> None:
    other = connection.copy()
    try:
        with migrating._alone(other):
            with pytest.raises(BackupError, match="make the backup when it has ended"):
                dumps.database_dump(tmp_path / "dump")
            with pytest.raises(CommandError, match="Another `manage.py migrate` is at work"):
                migrate()
        assert not older()
    finally:
        other.close()
    dumps.database_dump(tmp_path / "dump")
