"""The database as a file: one consistent moment of it, while others write; and back, all or nothing.

SQLite gives and takes a copy through its backup API. PostgreSQL's own programs do it there: `pg_dump` sees the snapshot
of the transaction that reads which files rows name. They get the password by their environment, never as an argument.
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
from core.models import Submission
from core.operations.backup.errors import BackupError
from core.operations.removed import REMOVED

SNAPSHOT_EMPTIED = ("django_session", "django_q_ormq", "core_bell")
"""Tables whose rows stay out of backups: sessions are keys to accounts, messages are made again from rows."""
LOCK_SECONDS = 30
"""How long a restore waits for programs that use the tables it replaces."""
Query = Callable[[str], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Dump:
    """A moment of the database. files: names of everything that rows had in the store then."""

    files: frozenset[str]
    server: str


def database_kind() -> str:
    """`sqlite` or `postgresql`: a dump goes back into its own kind alone."""
    return str(connection.vendor)


def database_dump(path: Path) -> Dump:
    """Write one moment of the database to a new file. Raises BackupError when a program is missing or fails."""
    return _dumps()(path, SNAPSHOT_EMPTIED, _files)


def database_keep(path: Path) -> None:
    """As `database_dump`, but with every row, and of whatever is there: to put it back should a restore fail."""
    _dumps()(path, (), lambda _: frozenset())


def database_load(path: Path | None) -> None:
    """Put a dump in the place of everything in the database; None leaves it empty. All or nothing.

    Raises BackupError; then the database is as it was.
    """
    connection.close()
    if connection.vendor == "sqlite":
        _load_sqlite(path)
    else:
        _load_postgres(path)


def files_named() -> frozenset[str]:
    """The names of everything that rows have in the store now."""
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
        raise BackupError(f"There is no backup of {connection.vendor}: use SQLite or PostgreSQL.")
    return ways[connection.vendor]


def _files(query: Query) -> frozenset[str]:
    return frozenset(str(name) for sql in _file_queries() for (name,) in query(sql))


def _file_queries() -> Iterator[str]:
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, FileField):
                # Archives of deleted submissions are deleted; their names stay.
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
        # In one step: a read transaction, beside which others write.
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")
        tables = {name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in tables.intersection(emptied):
            copy.execute(f'DELETE FROM "{table}"')  # noqa: S608  (a constant of this module)
        # What was deleted leaves the file, too.
        copy.execute("VACUUM")
        return Dump(files(lambda sql: copy.execute(sql).fetchall()), sqlite3.sqlite_version)


def _load_sqlite(path: Path | None) -> None:
    source = sqlite3.connect(":memory:") if path is None else sqlite3.connect(path)
    with closing(source), closing(sqlite3.connect(_sqlite_path(), timeout=LOCK_SECONDS)) as database:
        try:
            if path is not None and source.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise BackupError("SQLite finds the database in this backup damaged.")
            source.backup(database)
        except sqlite3.Error as error:
            raise BackupError(f"The database could not be put back: {error}.") from error


def _sqlite_path() -> str:
    return str(connection.settings_dict["NAME"])


def _dump_postgres(path: Path, emptied: Sequence[str], files: Callable[[Query], frozenset[str]]) -> Dump:
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
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
        # Broken by a psql that stops at an error; it says itself which.
        with suppress(BrokenPipeError), psql.stdin as script:
            # The triggers of tables that only grow go with them, their function does not.
            drop = f"DROP TABLE {tables} CASCADE;\nDROP FUNCTION IF EXISTS {APPEND_ONLY}();\n" if tables else ""
            script.write(f"BEGIN;\nSET LOCAL lock_timeout = '{LOCK_SECONDS}s';\n{drop}".encode())
            if path is not None:
                read = ("--no-owner", "--no-privileges", "--file=-", str(path))
                with _running("pg_restore", *read, connects=False, stdout=subprocess.PIPE) as reading:
                    assert reading.stdout is not None
                    with reading.stdout as statements:
                        shutil.copyfileobj(statements, script)
            # Not before pg_restore has ended well: without this line psql's transaction comes to nothing.
            script.write(b"\nCOMMIT;\n")


@contextmanager
def _running(
    program: str,
    *options: str,
    connects: bool = True,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
) -> Iterator[subprocess.Popen[bytes]]:
    """A program of PostgreSQL, until it has ended well; raises BackupError with what it says when it does not.

    connects: whether it speaks to the database, under the arena's settings.
    """
    # Django's own way from settings to programs; the name of the database comes last.
    (_, *address), variables = DatabaseClient.settings_to_cmd_args_env(connection.settings_dict, [])
    if name := connection.settings_dict["NAME"]:
        address[-1] = f"--dbname={name}"
    # A file: nobody reads a pipe while the program is fed.
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
