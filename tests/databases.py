"""Test databases: made once by all migrations, and copied for each process of a run.

PostgreSQL copies a template database, SQLite a file. Both are ready in a fraction of a second, where the migrations
take six seconds of a processor.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connections, transaction


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
    """Name a copy of the migrated database as the test database of this process; drop it afterwards.

    folder: shared by all processes of the run. worker: name of this process among them.
    """
    default = connections["default"]
    on_postgres = default.vendor == "postgresql"
    # Runs beside each other on one server do not meet.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:8]
    base = f"test_{default.settings_dict['NAME']}_{run}" if on_postgres else str(folder / "test")
    template, own = f"{base}_template", f"{base}_{worker}"
    users = folder / "databases-in-use"
    with _alone(folder):
        users.mkdir(exist_ok=True)
        if not any(users.iterdir()):
            _make(template)
        (users / worker).touch()
        _copy(template, own)
    default.settings_dict["TEST"]["NAME"] = own
    yield
    with _alone(folder):
        (users / worker).unlink()
        connections.close_all()
        _drop(own)
        if not any(users.iterdir()):
            _drop(template)


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
    default.creation.create_test_db(verbosity=0, autoclobber=True)
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


def empty_only_what_is_filled() -> None:
    """Let `flush` delete the rows of tables that have any: TRUNCATE of all tables costs PostgreSQL five times as much.

    The order does not matter: foreign keys are checked at the end of the transaction.
    """
    default = connections["default"]
    if default.vendor != "postgresql":
        return
    truncate = default.ops.sql_flush

    def sql_flush(
        style: Any, tables: Sequence[str], *, reset_sequences: bool = False, allow_cascade: bool = False
    ) -> list[str]:
        if reset_sequences or not tables:
            return truncate(style, tables, reset_sequences=reset_sequences, allow_cascade=allow_cascade)
        names = [default.ops.quote_name(table) for table in tables]
        with default.cursor() as cursor:
            cursor.execute("SELECT " + ", ".join(f"EXISTS (SELECT 1 FROM {name})" for name in names))
            filled = cursor.fetchone()
        return [f"DELETE FROM {name}" for name, is_filled in zip(names, filled, strict=True) if is_filled]

    default.ops.sql_flush = sql_flush  # type: ignore[method-assign]  # for this process, which only tests


def worker_name() -> str:
    """gw0, gw1 and so on in the processes of pytest-xdist; main without them."""
    return os.environ.get("PYTEST_XDIST_WORKER", "main")
