"""Dumps of the database at one consistent moment, while others write, and their restoration, all or nothing.

SQLite is copied through its backup API. For PostgreSQL its own programs are used: `pg_dump` sees the snapshot of the
transaction that lists the files. They get the password from their environment, never as an argument.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.backends.postgresql.client import DatabaseClient
from django.db.backends.utils import CursorWrapper
from django.db.models import FileField

from core.append_only import FUNCTION as APPEND_ONLY
from core.files.removed import REMOVED
from core.models import Submission
from core.operations.backup.direct import direct_place
from core.operations.backup.errors import BackupError
from core.operations.migrating import backup_begins

SNAPSHOT_EMPTIED = ("django_session", "usersessions_usersession", "django_q_ormq")
"""Tables whose rows stay out of backups: sessions give access to accounts, and messages are made again from rows."""
LOCK_SECONDS = 30
"""How long a restore waits for programs that use the tables that it replaces."""
Query = Callable[[str], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Dump:
    """The database at one moment. files: names of all files that rows had in the store then."""

    files: frozenset[str]
    server: str


def database_kind() -> str:
    """Return `sqlite` or `postgresql`: a dump can only be restored into its own kind."""
    return str(connection.vendor)


def database_dump(path: Path) -> Dump:
    """Write the database at one moment to a new file. Raises BackupError when a program is missing or fails."""
    return _dumps()(path, SNAPSHOT_EMPTIED, _files)


def database_keep(path: Path) -> None:
    """Like `database_dump`, but with every row of any database, to undo a restore that fails."""
    _dumps()(path, (), lambda _: frozenset())


def database_load(path: Path | None) -> None:
    """Replace everything in the database by a dump, or by nothing for None. All or nothing.

    Raises BackupError and leaves the database unchanged.
    """
    connection.close()
    if connection.vendor == "sqlite":
        _load_sqlite(path)
    else:
        _load_postgres(path)


def files_named() -> frozenset[str]:
    """Return the names of all files that rows have in the store now."""
    with connection.cursor() as cursor:
        return _files(_query_of(cursor))


def _query_of(cursor: CursorWrapper) -> Query:
    def query(sql: str) -> Sequence[Any]:
        cursor.execute(sql)
        rows: list[Any] = cursor.fetchall()
        return rows

    return query


def _dumps() -> Callable[[Path, Sequence[str], Callable[[Query], frozenset[str]]], Dump]:
    ways = {"sqlite": _dump_sqlite, "postgresql": _dump_postgres}
    if connection.vendor not in ways:
        raise BackupError(f"Backups of {connection.vendor} are not supported: use SQLite or PostgreSQL.")
    return ways[connection.vendor]


def _files(query: Query) -> frozenset[str]:
    return frozenset(str(name) for sql in _file_queries() for (name,) in query(sql))


def _file_queries() -> Iterator[str]:
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, FileField):
                # The archive of a deleted submission is gone, but its name stays in the row.
                alive = " AND deleted_at IS NULL" if model is Submission else ""
                table, column = model._meta.db_table, field.column
                yield (
                    f'SELECT "{column}" FROM "{table}" '  # noqa: S608  (names of our own models)
                    f"WHERE \"{column}\" <> '' AND substr(\"{column}\", 1, {len(REMOVED)}) <> '{REMOVED}'{alive}"
                )


def _dump_sqlite(path: Path, emptied: Sequence[str], files: Callable[[Query], frozenset[str]]) -> Dump:
    with (
        closing(sqlite3.connect(_sqlite_path())) as source,
        closing(sqlite3.connect(path, isolation_level=None)) as copy,
    ):
        # In one step, which is a read transaction that lets others write.
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")
        tables = {name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in tables.intersection(emptied):
            copy.execute(f'DELETE FROM "{table}"')  # noqa: S608  (a constant of this module)
        # Without this, deleted rows would stay readable in the file.
        copy.execute("VACUUM")
        return Dump(files(lambda sql: copy.execute(sql).fetchall()), sqlite3.sqlite_version)


def _load_sqlite(path: Path | None) -> None:
    source = sqlite3.connect(":memory:") if path is None else sqlite3.connect(path)
    with closing(source), closing(sqlite3.connect(_sqlite_path(), timeout=LOCK_SECONDS)) as database:
        try:
            if path is not None and source.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise BackupError("The database in this backup is damaged, according to SQLite.")
            source.backup(database)
        except sqlite3.Error as error:
            raise BackupError(f"The database could not be restored: {error}.") from error


def _sqlite_path() -> str:
    return str(connection.settings_dict["NAME"])


def _dump_postgres(path: Path, emptied: Sequence[str], files: Callable[[Query], frozenset[str]]) -> Dump:
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        if not backup_begins(connection):
            raise BackupError("`manage.py migrate` is at work on this database: make the backup when it has ended.")
        cursor.execute("SELECT pg_export_snapshot(), current_setting('server_version')")
        snapshot, server = cursor.fetchone()
        options = ["--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}", f"--file={path}"]
        with _running("pg_dump", *options, *(f"--exclude-table-data={table}" for table in emptied)):
            pass

        return Dump(files(_query_of(cursor)), str(server))


def _load_postgres(path: Path | None) -> None:
    tables = ", ".join(connection.ops.quote_name(table) for table in connection.introspection.table_names())
    connection.close()
    options = ("--no-psqlrc", "--quiet", "--output=/dev/null", "--set=ON_ERROR_STOP=1", "--file=-")
    with _running("psql", *options, stdin=subprocess.PIPE) as psql:
        assert psql.stdin is not None
        # psql breaks the pipe when it stops at an error, which it reports itself.
        with suppress(BrokenPipeError), psql.stdin as script:
            # Dropping append-only tables drops their triggers, but not the function.
            drop = f"DROP TABLE {tables} CASCADE;\nDROP FUNCTION IF EXISTS {APPEND_ONLY}();\n" if tables else ""
            script.write(f"BEGIN;\nSET LOCAL lock_timeout = '{LOCK_SECONDS}s';\n{drop}".encode())
            if path is not None:
                read = ("--no-owner", "--no-privileges", "--file=-", str(path))
                with _running("pg_restore", *read, connects=False, stdout=subprocess.PIPE) as reading:
                    assert reading.stdout is not None
                    with reading.stdout as statements:
                        shutil.copyfileobj(statements, script)
            # Only after pg_restore has succeeded: without this line psql rolls its transaction back.
            script.write(b"\nCOMMIT;\n")


@contextmanager
def _running(
    program: str,
    *options: str,
    connects: bool = True,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a PostgreSQL program and wait for its success; raises BackupError with its output when it fails.

    connects: whether it connects to the database, with the arena's settings.
    """
    # Django's own conversion of settings to arguments, in which the database's name comes last.
    place = direct_place(connection.settings_dict)
    (_, *address), variables = DatabaseClient.settings_to_cmd_args_env(place, [])
    if name := place["NAME"]:
        address[-1] = f"--dbname={name}"
    # A file, because a pipe would not be read while the program is being fed.
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                [program, *options, *(address if connects else ())],
                stdin=stdin,
                stdout=stdout,
                stderr=said,
                env={**os.environ, **(variables or {})},
            )
        except FileNotFoundError:
            raise BackupError(
                f"{program} is not installed here: install PostgreSQL's client programs of the server's version "
                "(on Debian: apt install postgresql-client)."
            ) from None
        try:
            yield process
        finally:
            code = process.wait()
        if code != 0:
            said.seek(0)
            raise BackupError(f"{program} failed: {said.read().decode(errors='replace').strip()}")
