"""Detects programs that still use the database that a restore is to replace."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from django.db import connection

from core.jobs.worker_selectors import SILENT_AFTER, workers_alive
from core.models import Worker

PATIENCE_SECONDS = 2.0
"""How long a connection that has just been closed may still be visible."""
SHOWN = 3


def who_works() -> str:
    """Return a sentence about living workers or other connections to the database; empty when none are found.

    PostgreSQL lists its connections. SQLite shows who has the file open, which the site does only during a request.
    """
    if Worker._meta.db_table in connection.introspection.table_names():
        names = list(workers_alive().values_list("name", flat=True)[: SHOWN + 1])
        if names:
            shown = ", ".join(names[:SHOWN]) + (" and others" if len(names) > SHOWN else "")
            return f"Workers are running, or were {SILENT_AFTER.seconds} s ago: {shown}."
    is_open = _is_open_sqlite if connection.vendor == "sqlite" else _is_open_postgres
    return "Other programs are connected to the database." if is_open() else ""


def _is_open_sqlite() -> bool:
    path = Path(str(connection.settings_dict["NAME"]))
    connection.close()
    if not path.exists():
        return False
    with closing(sqlite3.connect(path, timeout=PATIENCE_SECONDS)) as database:
        try:
            # Only a sole user of the file can leave WAL mode, in which Django's connections open it.
            database.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.OperationalError:
            return True
        database.execute("PRAGMA journal_mode=WAL")
    return False


def _is_open_postgres() -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with connection.cursor() as cursor:
            # The server's own processes have no user.
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename IS NOT NULL"
            )
            (others,) = cursor.fetchone()
        if not others or time.monotonic() > deadline:
            return bool(others)
        time.sleep(0.1)
