"""Queries that are written once: Django takes ten times as long to write the SQL of a lookup as to read its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain, count
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection
from django.db.models import Model, QuerySet
from django.db.models.query import get_related_populators

TYPES = {int: "bigint", float: "double precision", str: "text", datetime: "timestamptz", tuple: "bigint[]"}
Value = int | float | str | datetime | tuple[int, ...]
NO_KEY, MARK = -1, 2_000_000_000
"""A key that no row has, and a number above all constants of queries; the place of a value is added to it."""
UNFIT = frozenset({"0A000", "26000"})
"""SQLSTATEs of a plan whose columns a migration has changed since, and of one that the connection no longer has."""
Object = TypeVar("Object", bound=Model)
_numbers = count(1)


def moment_read(value: datetime | str) -> datetime:
    """Return a moment as a lookup has found it: SQLite has texts and moments without a time zone, in UTC."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Lookup:
    """A query of rows by given values, each of them used in a comparison as it is, a tuple of numbers in an `__in`.
    Each has one type in all calls.

    Its SQL is written at its first use. make: returns the query for values, which are never None, and compares numbers
    with columns of 32 bits or more; the columns of its rows come as the database has them.
    by_key: whether one plan fits all values: each is in few rows, or the query takes none. PostgreSQL, which takes
    longer to plan such a query than to answer it, then plans it once for each connection that stays.
    """

    def __init__(self, make: Callable[..., QuerySet[Any, Any]], *, by_key: bool = False) -> None:
        self._make, self._by_key = make, by_key
        self.compiler: Any = None
        """The writer of the SQL, which knows its columns; None before the first use."""
        self._written: tuple[str, list[tuple[int | None, Any]]] | None = None
        self._name = f"lookup_{next(_numbers)}"
        self._planned: WeakSet[Any] = WeakSet()
        self._unfit: WeakSet[Any] = WeakSet()

    def __call__(self, *values: Value) -> list[tuple[Any, ...]]:
        """Return the rows for these values."""
        # No row has such a key, and PostgreSQL takes no such number.
        if any(isinstance(value, int) and value.bit_length() > 63 for value in values):
            return []
        if self._written is None:
            # Values that stand in no query by themselves, so that their places can be found in its SQL. Each fits its
            # column: for a number out of range Django writes no query.
            asked = [_mark(n, value) for n, value in enumerate(values)]
            # The proxy and not the connection of this thread, which ends before the lookup does.
            compiler = self._make(*asked).query.get_compiler(connection=connection)
            sql, given = compiler.as_sql()
            self.compiler = compiler
            marks = [mark[0] if isinstance(mark, tuple) else _written(mark) for mark in asked]
            self._written = sql, [(marks.index(one) if one in marks else None, one) for one in given]
        sql, places = self._written
        with connection.cursor() as cursor:
            if self._can_plan():
                try:
                    self._plan(sql, places, values)
                    arrays = [list(value) if isinstance(value, tuple) else value for value in values]
                    cursor.execute(f"EXECUTE {self._name}{_listed(['%s'] * len(values))}", arrays)
                    return list(cursor.fetchall())
                except DatabaseError as error:
                    if getattr(error.__cause__, "pgcode", "") not in UNFIT:
                        raise
                    self._unfit.add(connection.connection)
                    if connection.in_atomic_block:
                        # PostgreSQL answers nothing more in this transaction.
                        raise
            cursor.execute(*_spread(sql, [one if place is None else _written(values[place]) for place, one in places]))
            return list(cursor.fetchall())

    def _can_plan(self) -> bool:
        """Return whether the connection keeps plans. One of a pooler, which belongs to a transaction, does not stay."""
        if not self._by_key or connection.vendor != "postgresql" or connection.settings_dict["CONN_MAX_AGE"] == 0:
            return False
        return connection.connection not in self._unfit

    def _plan(self, sql: str, places: list[tuple[int | None, Any]], values: tuple[Value, ...]) -> None:
        """Let PostgreSQL prepare the query, unless this connection has it already."""
        server = connection.connection
        if server in self._planned:
            return
        types = _listed([TYPES[type(value)] for value in values])
        # Constants stay in the text, so that partial indexes are found.
        text = sql % tuple("%s" if place is None else f"${place + 1}" for place, _ in places)
        for number, value in enumerate(values, start=1):
            if isinstance(value, tuple):
                text = text.replace(f"IN (${number})", f"= ANY (${number})")
        with connection.wrap_database_errors, server.cursor() as cursor:
            cursor.execute(f"PREPARE {self._name}{types} AS {text}", [one for place, one in places if place is None])
        self._planned.add(server)


ByKey = partial(Lookup, by_key=True)


class Objects(Generic[Object]):
    """A lookup by key that finds objects, with what its query names by `select_related`, `only` and `annotate`."""

    def __init__(self, make: Callable[..., QuerySet[Object, Any]]) -> None:
        self._lookup = ByKey(make)

    def __call__(self, *values: Value) -> list[Object]:
        """Return the objects for these values."""
        rows = self._lookup(*values)
        return list(self._made(rows)) if rows else []

    def _made(self, rows: list[tuple[Any, ...]]) -> Iterator[Object]:
        """Make objects of rows, as `django.db.models.query.ModelIterable` does."""
        compiler = self._lookup.compiler
        model, fields = compiler.klass_info["model"], compiler.klass_info["select_fields"]
        columns = slice(fields[0], fields[-1] + 1)
        names = [column.target.attname for column, *_ in compiler.select[columns]]
        # Types are those of Django 6.1, whose function takes one value more.
        related = get_related_populators(compiler.klass_info, compiler.select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]
        for row in compiler.results_iter([rows]):
            made = model.from_db(DEFAULT_DB_ALIAS, names, row[columns])
            for one in related:
                one.populate(row, made)
            for name, place in compiler.annotation_col_map.items():
                setattr(made, name, row[place])
            yield made


def prefetch(rows: Sequence[Model], lookups: Mapping[str, Callable[[Any], list[Any]]]) -> None:
    """Give objects what belongs to them, as `prefetch_related` does. lookups: by relation that of a tuple of keys."""
    keys = tuple(row.pk for row in rows)
    for name, lookup in lookups.items():
        found = lookup(keys) if keys else []
        for row in rows:
            related = getattr(row, name)
            own = [one for one in found if getattr(one, related.field.attname) == row.pk]
            for one in own:
                setattr(one, related.field.name, row)
            answered = related.all()
            answered._result_cache, answered._prefetch_done = own, True
            vars(row).setdefault("_prefetched_objects_cache", {})[name] = answered


def _mark(number: int, value: Value) -> Value:
    """Return a value of the same type that stands for the one of this number, from 0."""
    if isinstance(value, datetime):
        return datetime(9000, 1, 1 + number, tzinfo=UTC)
    if isinstance(value, str):
        return f"\x01{number}"
    if isinstance(value, tuple):
        return (MARK + number,)
    return float(MARK + number) if isinstance(value, float) else MARK + number


def _written(value: Any) -> Any:
    """Return a value as the database takes it: SQLite has texts for moments."""
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value


def _spread(sql: str, given: list[Any]) -> tuple[str, list[Any]]:
    """Return a query and its values with a place for each number of a tuple."""
    if not any(isinstance(value, tuple) for value in given):
        return sql, given
    each = [(value or (NO_KEY,)) if isinstance(value, tuple) else (value,) for value in given]
    return sql % tuple(", ".join(["%s"] * len(values)) for values in each), [*chain.from_iterable(each)]


def _listed(parts: list[str]) -> str:
    """Write a list in brackets, which PostgreSQL does not take without anything in it."""
    return f"({', '.join(parts)})" if parts else ""
