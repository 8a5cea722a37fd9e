"""Whether somebody still works on the database that a restore is to replace, as far as that can be told."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from django.db import connection

from core.jobs.worker_selectors import SILENT_AFTER, workers_alive
from core.models import Worker

PATIENCE_SECONDS = 2.0
"""Who has just closed a connection may be seen for a moment yet."""
SHOWN = 3


def who_works() -> str:
    """A sentence about workers that live, or about other connections to the database; empty where nobody is seen.

    PostgreSQL knows its connections. SQLite knows who has the file open: the site only while it answers a request.
    """
    if Worker._meta.db_table in connection.introspection.table_names():
        names = list(workers_alive().values_list("name", flat=True)[: SHOWN + 1])
        if names:
            shown = ", ".join(names[:SHOWN]) + (" and others" if len(names) > SHOWN else "")
            return f"Workers live, or did {SILENT_AFTER.seconds} s ago: {shown}."
    is_open = _is_open_sqlite if connection.vendor == "sqlite" else _is_open_postgres
    return "Other programs are connected to the database." if is_open() else ""


def _is_open_sqlite() -> bool:
    path = Path(str(connection.settings_dict["NAME"]))
    connection.close()
    if not path.exists():
        return False
    with closing(sqlite3.connect(path, timeout=PATIENCE_SECONDS)) as database:
        try:
            # Only who has the file alone can leave this mode, in which Django's connections open it.
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
