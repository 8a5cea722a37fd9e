"""The time that a statement of the site may take in PostgreSQL; workers and commands have no such limit."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

MOST_SECONDS = 30


def statements_bound() -> None:
    """Let the statements of this process fail after MOST_SECONDS, so that no request waits for the database for ever.

    Connections of a pooler are left alone: a setting would reach what others do with them.
    """
    connection_created.connect(_bound, dispatch_uid="statements_bound")


def _bound(*, connection: BaseDatabaseWrapper, **_: Any) -> None:
    if connection.vendor == "postgresql" and not settings.DATABASE_DIRECT_URL:
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = %s", [f"{MOST_SECONDS}s"])
