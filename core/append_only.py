"""Append-only tables: the database itself refuses to change or delete their rows.

The owner of the database can drop these triggers; the site's own code, and an attacker who controls it, cannot pass
them. TRUNCATE stays possible, so that a backup can be restored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.backends.base.base import BaseDatabaseWrapper

TABLES = ("core_auditentry", "core_ledgerentry", "core_ledgervoid", "core_rolloutverdict")
_NAMES = {"UPDATE": "is_never_changed", "DELETE": "is_never_deleted"}
FUNCTION = "arena_append_only"
"""The trigger function of PostgreSQL. It outlives the tables: drop it before a dump that contains it is restored."""
_CREATE_FUNCTION = f"""
CREATE OR REPLACE FUNCTION {FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% only grows', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$
"""


def protect(connection: BaseDatabaseWrapper) -> None:
    """Make the existing tables of TABLES append-only; do nothing where they are already."""
    present = set(connection.introspection.table_names()).intersection(TABLES)
    with connection.cursor() as cursor:
        if present and connection.vendor == "postgresql":
            cursor.execute(_CREATE_FUNCTION)
        for table in present:
            for event, name in _NAMES.items():
                if connection.vendor == "postgresql":
                    cursor.execute(
                        f"CREATE OR REPLACE TRIGGER {table}_{name} BEFORE {event} ON {table} "
                        f"FOR EACH ROW EXECUTE FUNCTION {FUNCTION}()"
                    )
                else:
                    cursor.execute(
                        f"CREATE TRIGGER IF NOT EXISTS {table}_{name} BEFORE {event} ON {table} "
                        f"BEGIN SELECT RAISE(ABORT, '{table} only grows'); END"
                    )


def unprotect(connection: BaseDatabaseWrapper) -> None:
    """Remove the protection."""
    if connection.in_atomic_block:
        # PostgreSQL drops no trigger of a table while deferred foreign key checks are pending.
        connection.check_constraints()
    with connection.cursor() as cursor:
        for table in set(connection.introspection.table_names()).intersection(TABLES):
            for name in _NAMES.values():
                place = f" ON {table}" if connection.vendor == "postgresql" else ""
                cursor.execute(f"DROP TRIGGER IF EXISTS {table}_{name}{place}")


@contextmanager
def unprotected(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Remove the protection for the length of the block, for example to restore a backup into the same database."""
    unprotect(connection)
    try:
        yield
    finally:
        protect(connection)
