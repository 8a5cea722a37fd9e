"""Reading at one moment, so that all parts of a page agree, whatever others write meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction


@contextmanager
def one_moment() -> Iterator[None]:
    """Read within as the database is at the first query, and write nothing. Within a transaction, that one decides."""
    if connection.in_atomic_block:
        yield
        return
    database: Any = connection
    if database.vendor == "sqlite":
        database.ensure_connection()
        usual = database.transaction_mode
        # The usual one locks out all who write.
        database.transaction_mode = "DEFERRED"
        try:
            with transaction.atomic(durable=True):
                yield
        finally:
            database.transaction_mode = usual
        return
    with transaction.atomic(durable=True):
        with database.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield
