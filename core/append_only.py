"""Tables that only grow: the database itself refuses to change or delete a row of them.

Whoever owns the database can take these triggers away; the site's own code, and what somebody makes it do, cannot
pass them. Emptying a whole table (TRUNCATE) is left to those who restore a backup.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.backends.base.base import BaseDatabaseWrapper

TABLES = ("core_auditentry", "core_ledgerentry", "core_ledgervoid")
_NAMES = {"UPDATE": "is_never_changed", "DELETE": "is_never_deleted"}
FUNCTION = "arena_append_only"
"""Of PostgreSQL. It stays when the tables go: drop it before a dump with it is put back."""
_CREATE_FUNCTION = f"""
CREATE OR REPLACE FUNCTION {FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% only grows', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$
"""


def protect(connection: BaseDatabaseWrapper) -> None:
    """Make the tables append-only, those that there are; does nothing where they are so already."""
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
    """Take the protection away."""
    if connection.in_atomic_block:
        # A table with checks of foreign keys still to come lets no trigger go.
        connection.check_constraints()
    with connection.cursor() as cursor:
        for table in set(connection.introspection.table_names()).intersection(TABLES):
            for name in _NAMES.values():
                place = f" ON {table}" if connection.vendor == "postgresql" else ""
                cursor.execute(f"DROP TRIGGER IF EXISTS {table}_{name}{place}")


@contextmanager
def unprotected(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """For a while, as for restoring a backup into the same database."""
    unprotect(connection)
    try:
        yield
    finally:
        protect(connection)
