"""The exported state of a world: tables in one SQLite database in memory, and files. It is read, never run."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import TracebackType
from typing import Self

from arena_kit.errors import Refused
from arena_kit.rollout.exports.csv_tables import Column, NotATable, csv_table
from arena_kit.rollout.exports.sql import Cell, Clock, Row, query_rows, restrict

MOST_BYTES = 256 << 20
MOST_FILES = 10_000
MOST_TABLES = 1_000
MOST_COLUMNS = 200
SQLITE_SUFFIXES = (".sqlite", ".sqlite3", ".db")
_SQL_TYPES = {"text": "TEXT", "integer": "INTEGER", "real": "REAL", "boolean": "INTEGER"}
Volatile = Mapping[str, Iterable[str]]
"""Columns by table that differ between two equal worlds, such as times and tokens; `*` for a whole file."""


class ExportRefused(Refused):
    """An export that cannot be read. The package or the platform is at fault, never the agent."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The structure of a table. key: the columns that name a row; empty if none do."""

    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    volatile: frozenset[str] = frozenset()

    @property
    def steady(self) -> tuple[str, ...]:
        """The columns that are equal in two equal worlds."""
        return tuple(name for name in self.columns if name not in self.volatile)


class ExportedState:
    """The tables and files of an export. `with` closes the database."""

    def __init__(self, files: Mapping[str, bytes], *, volatile: Volatile | None = None) -> None:
        """Read an export. files: contents by name; `.csv` and SQLite files become tables, all others stay files.

        Raises ExportRefused.
        """
        _check_size(files)
        self.volatile = {name: frozenset(columns) for name, columns in (volatile or {}).items()}
        self.tables: dict[str, Shape] = {}
        self.files: dict[str, bytes] = {}
        self._readers = 0
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        try:
            for name in sorted(files):
                self._add(name, files[name])
        except BaseException:
            self.close()
            raise
        restrict(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory of the tables."""
        self._connection.close()

    def query(self, query: str, *, clock: Clock = time.monotonic) -> list[Row]:
        """Return the rows that answer a question. Raises QueryFailed and QueryTooSlow."""
        return query_rows(self._connection, query, clock)

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the steady cells of a table's rows, in the order of its key and then of all cells."""
        described = self.tables[table]
        order = [name for name in described.key if name in described.steady]
        order += [name for name in described.steady if name not in order]
        columns = ", ".join(map(_quoted, described.steady)) or "NULL"
        ordered = ", ".join(map(_quoted, order)) or "1"
        # The connection is restricted to questions of tasks; this one is our own, over names that are quoted.
        self._readers += 1
        self._connection.set_authorizer(None)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        try:
            yield from self._connection.execute(f"SELECT {columns} FROM {_quoted(table)} ORDER BY {ordered}")  # noqa: S608  (quoted)
        finally:
            self._readers -= 1
            if not self._readers:
                restrict(self._connection)

    def digest(self) -> str:
        """Return the SHA-256 over tables and files without what is volatile; equal worlds have equal digests."""
        hashed = hashlib.sha256()
        for name in sorted(self.tables):
            hashed.update(_line(("table", name, *self.tables[name].steady)))
            for row in self.rows(name):
                hashed.update(_line(row))
        for name in sorted(self.files):
            if "*" not in self.volatile.get(name, ()):
                hashed.update(_line(("file", name, hashlib.sha256(self.files[name]).hexdigest())))
        return hashed.hexdigest()

    def _add(self, name: str, content: bytes) -> None:
        suffix = PurePosixPath(name).suffix.lower()
        try:
            if suffix == ".csv":
                columns, rows = csv_table(content.decode("utf-8-sig"))
                self._add_table(PurePosixPath(name).stem, columns, rows)
            elif suffix in SQLITE_SUFFIXES:
                self._add_database(content)
            else:
                self.files[name] = content
        except (NotATable, UnicodeDecodeError, sqlite3.Error, OverflowError) as error:
            raise ExportRefused(f"The export's file {name} cannot be read: {error}", code="bad_export") from None

    def _add_database(self, content: bytes) -> None:
        """Copy the ordinary tables of a SQLite file; its views, triggers and virtual tables are left where they are."""
        source = sqlite3.connect(":memory:")
        try:
            source.deserialize(content)
            source.execute("PRAGMA trusted_schema = OFF")
            source.execute("PRAGMA query_only = ON")
            kinds = source.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main'").fetchall()
            for (table,) in [(name,) for name, kind in kinds if kind == "table" and not name.startswith("sqlite_")]:
                described = source.execute("SELECT name, pk, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
                plain = [(name, place) for name, place, hidden in described if not hidden]
                columns = tuple(Column(name, "", is_key=place > 0) for name, place in plain)
                names = ", ".join(_quoted(name) for name, _ in plain)
                self._add_table(table, columns, source.execute(f"SELECT {names} FROM {_quoted(table)}"))  # noqa: S608  (quoted)
        finally:
            source.close()

    def _add_table(self, name: str, columns: tuple[Column, ...], rows: Iterable[Row]) -> None:
        if name.casefold() in {known.casefold() for known in self.tables} or len(self.tables) >= MOST_TABLES:
            raise NotATable(f"Two tables are called {name}, or there are more than {MOST_TABLES}.")
        if not columns or len(columns) > MOST_COLUMNS:
            raise NotATable(f"The table {name} has {len(columns)} columns; 1 to {MOST_COLUMNS} are allowed.")
        described = ", ".join(f"{_quoted(column.name)} {_SQL_TYPES.get(column.type, '')}" for column in columns)
        self._connection.execute(f"CREATE TABLE {_quoted(name)} ({described})")
        places = ", ".join("?" * len(columns))
        self._connection.execute("BEGIN")
        self._connection.executemany(f"INSERT INTO {_quoted(name)} VALUES ({places})", rows)  # noqa: S608  (quoted)
        self._connection.execute("COMMIT")
        key = tuple(column.name for column in columns if column.is_key)
        self.tables[name] = Shape(tuple(column.name for column in columns), key, self.volatile.get(name, frozenset()))


def _check_size(files: Mapping[str, bytes]) -> None:
    size = sum(map(len, files.values()))
    if size > MOST_BYTES or len(files) > MOST_FILES:
        sentence = (
            f"The export has {len(files):,} files with {size:,} bytes; at most {MOST_FILES:,} and {MOST_BYTES:,} fit."
        )
        raise ExportRefused(sentence, code="export_too_large")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""').replace("\0", "") + '"'


def _line(cells: Iterable[Cell]) -> bytes:
    return (repr(tuple(cells)) + "\n").encode("utf-8", "surrogatepass")
