"""Test databases: made once by all migrations, and copied for each process of a run.

PostgreSQL copies a template database, SQLite a file. Both are ready in a fraction of a second, where the migrations
take two seconds of a processor.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.color import no_style
from django.db import connection, connections, transaction

from core import append_only


@contextmanager
def rolled_back() -> Iterator[None]:
    """Undo at the end what the block has written. Each transaction of the arena within it counts as one of its own."""
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]  # the stubs lack it
    with block:
        yield
        transaction.set_rollback(True)


@contextmanager
def own_database(folder: Path, worker: str) -> Iterator[None]:
    """Have this process use a copy of the migrated database; drop it afterwards.

    folder: shared by all processes of the run. worker: name of this process among them.
    """
    default = connections["default"]
    # Runs beside each other on one server do not meet.
    base = _base(folder, os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid())))
    own = f"{base}_{worker}"
    _use(folder, base, worker, lambda: _copy(f"{base}_template", own))
    usual = default.settings_dict["NAME"]
    settings.DATABASES["default"]["NAME"] = default.settings_dict["NAME"] = own
    yield
    connections.close_all()
    settings.DATABASES["default"]["NAME"] = default.settings_dict["NAME"] = usual
    _drop(own)
    _leave(folder, base, worker)


@contextmanager
def template_kept(folder: Path, run: str) -> Iterator[None]:
    """Make the database that the processes of a run will copy, unless one of them already has, and keep it."""
    base = _base(folder, run)
    _use(folder, base, "run", connections.close_all)
    try:
        yield
    finally:
        _leave(folder, base, "run")
        connections.close_all()


def _base(folder: Path, run: str) -> str:
    default = connections["default"]
    return f"test_{default.settings_dict['NAME']}_{run[:8]}" if default.vendor == "postgresql" else str(folder / "test")


def _use(folder: Path, base: str, user: str, then: Callable[[], None]) -> None:
    """Be one of those who need the template, which the first of them makes."""
    users = folder / "databases-in-use"
    with _alone(folder):
        users.mkdir(exist_ok=True)
        if not any(users.iterdir()):
            _make(f"{base}_template")
        (users / user).touch()
        then()


def _leave(folder: Path, base: str, user: str) -> None:
    """Be it no longer; the last of them drops the template."""
    users = folder / "databases-in-use"
    with _alone(folder):
        (users / user).unlink()
        if not any(users.iterdir()):
            _drop(f"{base}_template")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process of the run at a time."""
    with (folder / "databases.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(name: str) -> None:
    default = connections["default"]
    usual = default.settings_dict["NAME"]
    default.settings_dict["TEST"]["NAME"] = name
    default.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    # Nothing may be connected to a database that is copied.
    default.close()
    settings.DATABASES["default"]["NAME"] = default.settings_dict["NAME"] = usual


def _copy(template: str, name: str) -> None:
    if connections["default"].vendor == "postgresql":
        _drop(name)
        _postgres(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    else:
        shutil.copyfile(template, name)


def _drop(name: str) -> None:
    if connections["default"].vendor == "postgresql":
        _postgres(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        return
    for suffix in ("", "-wal", "-shm"):
        Path(name + suffix).unlink(missing_ok=True)


def _postgres(statement: str) -> None:
    creation = connections["default"].creation
    with creation._nodb_cursor() as cursor:  # type: ignore[attr-defined]  # only PostgreSQL's has it
        cursor.execute(statement)


class AsMigrated:
    """What the migrations have left in this process's database, to which each test that commits goes back.

    Django's `flush` would empty all tables and have every app make its rows again: a hundred queries a test.
    """

    def __init__(self) -> None:
        """Note the rows and triggers of a database that no test has used."""
        introspection = connection.introspection
        self._tables = introspection.django_table_names(only_existing=True, include_views=False)
        self._models = introspection.installed_models(self._tables)
        self._rows = self._rows_of(self._filled(self._tables))
        self._triggers = self._present_triggers()

    def restore(self) -> None:
        """Delete what was added since, and write again what was changed or deleted."""
        from django.contrib.contenttypes.models import ContentType  # once Django is set up

        untouched = [table for table, rows in self._rows_of(self._rows).items() if rows == self._rows[table]]
        spoiled = [table for table in self._rows if table not in untouched]
        emptied = self._filled([table for table in self._tables if table not in untouched])
        if set(emptied).intersection(append_only.TABLES):
            append_only.unprotect(connection)
        with transaction.atomic(), connection.cursor() as cursor:
            # The order does not matter: foreign keys are checked at the end of the transaction.
            for table in emptied:
                cursor.execute(f"DELETE FROM {self._quoted(table)}")
            for table in spoiled:
                places = ", ".join(["%s"] * len(self._rows[table][0]))
                cursor.executemany(f"INSERT INTO {self._quoted(table)} VALUES ({places})", self._rows[table])
            # A restored backup may count on from lower numbers than these rows have.
            models = [model for model in self._models if model._meta.db_table in spoiled]
            for statement in connection.ops.sequence_reset_sql(no_style(), models):
                cursor.execute(statement)
        if self._present_triggers() != self._triggers:
            append_only.protect(connection)
        # What is kept in memory may name rows that are gone.
        ContentType.objects.clear_cache()

    def _quoted(self, table: str) -> str:
        return connection.ops.quote_name(table)

    def _filled(self, tables: Sequence[str]) -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT " + ", ".join(f"EXISTS (SELECT 1 FROM {self._quoted(table)})" for table in tables))
            return [table for table, is_filled in zip(tables, cursor.fetchone(), strict=True) if is_filled]

    def _rows_of(self, tables: Iterable[str]) -> dict[str, list[tuple[Any, ...]]]:
        found = {}
        with connection.cursor() as cursor:
            for table in tables:
                cursor.execute(f"SELECT * FROM {self._quoted(table)} ORDER BY 1")
                found[table] = cursor.fetchall()
        return found

    def _present_triggers(self) -> set[str]:
        named = "tgname FROM pg_trigger WHERE NOT tgisinternal"
        if connection.vendor != "postgresql":
            named = "name FROM sqlite_master WHERE type = 'trigger'"
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {named}")
            return {name for (name,) in cursor.fetchall()}


def worker_name() -> str:
    """gw0, gw1 and so on in the processes of pytest-xdist; main without them."""
    return os.environ.get("PYTEST_XDIST_WORKER", "main")
