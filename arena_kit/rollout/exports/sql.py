"""Questions of tasks to a state in SQLite: one SELECT, read-only, with functions from a list, and a limit of steps.

What a question may cost is counted in SQLite's own steps and not in seconds, so that its verdict is the same on every
machine. The seconds only guard the worker: a question that exceeds them is the platform's fault.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

Cell = None | int | float | str | bytes
Row = tuple[Cell, ...]
Clock = Callable[[], float]

MOST_STEPS = 1_000_000
MOST_SECONDS = 2.0
MOST_ROWS = 10_000
MOST_CELLS = 100_000
MOST_CHARACTERS = 4_000
MOST_TEXT_BYTES = 1 << 18
"""The largest text or row that a query may read or produce."""
STEPS_AT_A_TIME = 500
FUNCTIONS = frozenset({
    "abs", "avg", "coalesce", "count", "dense_rank", "glob", "group_concat", "hex", "ifnull", "iif", "instr",
    "json_array_length", "json_extract", "json_type", "json_valid", "length", "like", "lower", "ltrim", "max", "min",
    "nullif", "quote", "rank", "replace", "round", "row_number", "rtrim", "sign", "substr", "substring", "sum", "total",
    "trim", "typeof", "unicode", "upper", "->", "->>",
})  # fmt: skip
"""None of these depends on chance, the clock or the machine."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MOST_TEXT_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 4 * MOST_CHARACTERS,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
}


class QueryFailed(Exception):
    """A question that has no answer: it is wrong, not allowed, or takes too much. The message is a sentence."""


class QueryTooSlow(Exception):
    """The seconds were used up before the steps were: the machine is at fault, not the state and not the task."""


@dataclass(slots=True)
class _Meter:
    """Counts the steps of one question. SQLite calls it every STEPS_AT_A_TIME steps and stops when it returns 1."""

    clock: Clock
    ends_at: float
    steps: int = 0
    was_slow: bool = False

    def __call__(self) -> bool:
        self.steps += STEPS_AT_A_TIME
        self.was_slow = self.clock() > self.ends_at
        return self.was_slow or self.steps >= MOST_STEPS


def restrict(connection: sqlite3.Connection) -> None:
    """Make a connection one that only answers questions."""
    connection.execute("PRAGMA query_only = ON")
    for limit, value in _LIMITS.items():
        connection.setlimit(limit, value)
    connection.set_authorizer(_allows)


def query_rows(connection: sqlite3.Connection, query: str, clock: Clock) -> list[Row]:
    """Return the rows that a restricted connection answers. Raises QueryFailed and QueryTooSlow."""
    meter = _Meter(clock, clock() + MOST_SECONDS)
    connection.set_progress_handler(meter, STEPS_AT_A_TIME)
    rows: list[Row] = []
    try:
        for row in connection.execute(query):
            rows.append(row)
            if len(rows) > MOST_ROWS or len(rows) * len(row) > MOST_CELLS:
                raise QueryFailed(f"The query returns more than {MOST_ROWS:,} rows or {MOST_CELLS:,} cells.")
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
        if meter.was_slow:
            raise QueryTooSlow(f"The query took more than {MOST_SECONDS:g} seconds.") from None
        if meter.steps >= MOST_STEPS:
            raise QueryFailed(f"The query takes more than {MOST_STEPS:,} steps of SQLite.") from None
        raise QueryFailed(f"The query cannot be answered: {error}.") from None
    finally:
        connection.set_progress_handler(None, 0)
    return rows


def _allows(action: int, first: str | None, second: str | None, database: str | None, inner: str | None) -> int:
    if action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ and not (first or "").casefold().startswith(("sqlite_", "pragma_")):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").casefold() in FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
