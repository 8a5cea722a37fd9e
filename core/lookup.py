"""Queries that are written once: Django takes ten times as long to write the SQL of a lookup as to read its rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import QuerySet


class Lookup:
    """A query of rows by given values, each of them used in a comparison as it is. Its SQL is written at its first use.

    make: returns the query for values; the columns of its rows come as the database has them.
    """

    def __init__(self, make: Callable[..., QuerySet[Any, Any]]) -> None:
        self._make = make
        self._written: tuple[str, list[tuple[int | None, Any]]] | None = None

    def __call__(self, *values: int | str) -> list[tuple[Any, ...]]:
        """Return the rows for these values."""
        if self._written is None:
            # Values that stand in no query by themselves, so that their places can be found in its SQL.
            marks = [-1 - n if isinstance(value, int) else f"\x01{n}" for n, value in enumerate(values)]
            sql, given = self._make(*marks).query.sql_with_params()
            self._written = sql, [(marks.index(one) if one in marks else None, one) for one in given]
        sql, places = self._written
        with connection.cursor() as cursor:
            cursor.execute(sql, [one if place is None else values[place] for place, one in places])
            return list(cursor.fetchall())
