"""Migrations beside a site at work: they wait for locks for seconds, and never beside a backup or each other.

A statement that waits for a table also holds up all who come after it, so a long wait would stop the site.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import Error, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from core.operations.backup.direct import direct_place

LOCK_SECONDS = 2
"""The time for which a statement of a migration waits for a lock."""
TRIES, PAUSE_SECONDS = 10, 5.0
"""How often a migration is tried, and the time between two tries, in which the site goes on."""
ALONE = 0x6172656E61
"""The number of the advisory lock: shared by backups, held alone by a migration."""
PASSING = ("55P03", "40P01")
"""The codes of PostgreSQL for a lock that was not free in time, and for two sessions that wait for each other."""
BACKUP_RUNS = "A backup of this database is running. Nothing was changed: run `manage.py migrate` when it has ended."
MIGRATION_RUNS = "Another `manage.py migrate` is at work on this database. Nothing was changed."
HOLDERS = """
    SELECT a.pid, a.application_name, a.usename, extract(epoch FROM now() - a.xact_start)::int, left(a.query, 80)
    FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
      AND (a.xact_start IS NULL OR a.xact_start < now() - %s * interval '1 second')
      AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'relation' AND l.granted)
    ORDER BY a.xact_start LIMIT 3"""


class MigrationRefused(Exception):
    """A migration cannot be applied now. The message holds the reason and what to do."""


def migrate_beside(
    connection: BaseDatabaseWrapper, migrate: Callable[[], object], *, say: Callable[[str], object]
) -> None:
    """Apply migrations on PostgreSQL while the site is at work. Raises MigrationRefused.

    migrate: applies what is not applied yet; what it has applied stays when it fails.
    """
    if settings.DATABASE_DIRECT_URL:
        # A pooler would give the session, with its lock and its limit, to others.
        connection.close()
        connection.settings_dict = direct_place(connection.settings_dict)
    with _alone(connection):
        for left in reversed(range(TRIES)):
            try:
                migrate()
                return
            except OperationalError as error:
                if getattr(error.__cause__, "pgcode", "") not in PASSING:
                    raise
                held = holders(connection)
            if left:
                say(f"A table is in use{held}. The next of {left} more tries follows in {PAUSE_SECONDS:g} s.")
                time.sleep(PAUSE_SECONDS)
    raise MigrationRefused(
        f"A table is in use{held}. Migrations wait for {LOCK_SECONDS} s only, because all pages wait behind them. What "
        "was applied stays, the rest was not begun: wait until that process has ended, or end it with `SELECT "
        "pg_terminate_backend(PID)`, and run `manage.py migrate` again."
    )


def holders(connection: BaseDatabaseWrapper) -> str:
    """Return which processes have held locks for longer than a migration waits, as the end of a sentence."""
    with connection.cursor() as cursor:
        cursor.execute(HOLDERS, [LOCK_SECONDS])
        found = [
            f"process {pid} ({name or 'without a name'} of {user}"
            + (f", for {seconds} s: {' '.join(query.split())}" if seconds is not None else "")
            + ")"
            for pid, name, user, seconds, query in cursor.fetchall()
        ]
    return f" by {', '.join(found)}" if found else ""


def backup_begins(connection: BaseDatabaseWrapper) -> bool:
    """Keep migrations away until this transaction ends; return False while one is at work."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock_shared(%s)", [ALONE])
        (is_free,) = cursor.fetchone()
    return bool(is_free)


@contextmanager
def _alone(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Hold the lock of migrations, and let no statement of this session wait longer for a lock than LOCK_SECONDS."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [ALONE])
        if cursor.fetchone() != (True,):
            cursor.execute(
                "SELECT bool_or(mode = 'ShareLock') FROM pg_locks WHERE locktype = 'advisory' AND granted "
                "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
                "AND classid = %s AND objid = %s AND objsubid = 1",
                [ALONE >> 32, ALONE & 0xFFFFFFFF],
            )
            (is_backup,) = cursor.fetchone()
            raise MigrationRefused(BACKUP_RUNS if is_backup else MIGRATION_RUNS)
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [f"{LOCK_SECONDS}s"])
    try:
        yield
    finally:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s), set_config('lock_timeout', '0', false)", [ALONE])
        except Error:
            # The end of the session releases both.
            connection.close()
