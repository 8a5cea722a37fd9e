"""More of a season that `benchmarks.load.rows` has filled: copies by SQL, a day later each. Needs PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.db.backends.utils import CursorWrapper
    from django.db.models import Model

TIMES = {
    "core_tournament": ("started_at", "ended_at"),
    "core_duel": ("created_at", "started_at", "ended_at"),
    "core_ledgerentry": ("created_at",),
    "core_ratingpoint": ("at",),
}
FILES = ("records", "player_1_log", "player_2_log", "player_1_digest", "player_2_digest")
TOTALS = {
    "core_pairtotal": ("wins", "draws", "losses", "duel_count"),
    "core_rating": ("duel_count", "match_count"),
    "core_liverating": ("duel_count",),
    "core_ledger": ("version",),
    "core_ledgersums": ("version", "rated_version"),
    "core_ratingpool": ("ledger_version", "duel_count"),
}


def grow(copies: int) -> None:
    """Add copies of all editions, duels, entries and points; the copied duels have no files, as after retention."""
    from django.db import connection, transaction

    from core.models import Duel, LedgerChange, LedgerEntry, Participant, RatingPoint, Tournament

    with transaction.atomic(), connection.cursor() as cursor:
        # Neither triggers nor foreign keys are checked: the copies are as right as the rows.
        cursor.execute("SET LOCAL session_replication_role = replica")
        for table, columns in TIMES.items():
            earlier = ", ".join(f"{name} = {name} - interval '{copies} days'" for name in columns)
            cursor.execute(f"UPDATE {table} SET {earlier}")
        models: tuple[type[Model], ...] = (Tournament, Duel, Participant, LedgerEntry, LedgerChange, RatingPoint)
        last = {model: _largest(cursor, model, "id") for model in models}
        steps = {
            "tournament_id": last[Tournament],
            "duel_id": last[Duel],
            "edition": _largest(cursor, Tournament, "edition"),
            "version": _largest(cursor, LedgerChange, "version"),
        }
        for number in range(1, copies + 1):
            for model, key in last.items():
                cursor.execute(_copy(model, number, {**steps, "id": key}), [key])
        for table, columns in TOTALS.items():
            more = ", ".join(f"{name} = {name} * {copies + 1}" for name in columns)
            cursor.execute(f"UPDATE {table} SET {more}")
        for model, key in last.items():
            table = model._meta.db_table
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [table, key * (copies + 1)])


def _largest(cursor: CursorWrapper, model: type[Model], column: str) -> int:
    cursor.execute(f"SELECT max({column}) FROM {model._meta.db_table}")
    found: int = cursor.fetchone()[0]
    return found


def _copy(model: type[Model], number: int, steps: dict[str, int]) -> str:
    """Return the statement that copies the rows up to a key, which is its parameter. steps: by column."""
    table = model._meta.db_table
    columns = [str(field.column) for field in model._meta.local_concrete_fields]
    values = {name: f"{name} + {number * steps[name]}" for name in columns if name in steps}
    values |= {name: f"{name} + interval '{number} days'" for name in TIMES.get(table, ())}
    values |= {name: "''" for name in FILES if name in columns}
    chosen = ", ".join(values.get(name, f'"{name}"') for name in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM {table} WHERE id <= %s"
