"""The time that a statement of the site may take in PostgreSQL; workers and commands have no such limit."""

from __future__ import annotations

import math
import select
import threading
import time
from typing import Any

import psycopg2  # type: ignore[import-untyped]  # it ships no types
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

MOST_SECONDS = 30
GONE_SECONDS = MOST_SECONDS + 5
"""A server that has not answered for this long is frozen: it would have ended the statement itself."""
CONNECT_SECONDS = 1.5
"""The time in which a server must take a connection."""
QUIET_SECONDS = 0.25
"""After this time without an answer to any thread, and each time again, a new connection shows whether it is frozen."""
PAUSE_SECONDS = 1.0
"""For this long after a server has not taken a connection, no other one is tried."""
NO_ANSWER = "PostgreSQL does not answer."

_answered_at, _frozen_until = [-math.inf], [-math.inf]
"""The time of the last answer and the end of that pause, for all threads."""
_probe = threading.local()
"""`on` while this thread looks by a new connection, whose own statements must not begin another look."""


def statements_bound() -> None:
    """Let the statements of this process fail after MOST_SECONDS, so that no request waits for the database for ever.

    Connections of a pooler get no setting, which would reach what others do with them.
    """
    connection_created.connect(_bound, dispatch_uid="statements_bound")
    psycopg2.extensions.set_wait_callback(_wait)


def _bound(*, connection: BaseDatabaseWrapper, **_: Any) -> None:
    if connection.vendor == "postgresql" and not settings.DATABASE_DIRECT_URL:
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = %s", [f"{MOST_SECONDS}s"])


def _wait(connection: Any) -> None:
    """Wait until a connection of psycopg2 is ready. Raises OperationalError when its server is frozen."""
    is_connecting = connection.status == psycopg2.extensions.STATUS_SETUP or getattr(_probe, "on", False)
    begun = time.monotonic()
    deadline = begun + (CONNECT_SECONDS if is_connecting else QUIET_SECONDS)
    if is_connecting and begun < _frozen_until[0]:
        raise psycopg2.OperationalError(NO_ANSWER)
    while (state := connection.poll()) != psycopg2.extensions.POLL_OK:
        # A process with many streams has descriptors that are too large for `select`.
        ready = select.poll()
        ready.register(connection.fileno(), select.POLLIN if state == psycopg2.extensions.POLL_READ else select.POLLOUT)
        if not ready.poll(1000 * max(0.0, deadline - time.monotonic())):
            if is_connecting:
                _frozen_until[0] = time.monotonic() + PAUSE_SECONDS
            if is_connecting or time.monotonic() - begun >= GONE_SECONDS or not _is_alive():
                raise psycopg2.OperationalError(NO_ANSWER)
            deadline = time.monotonic() + QUIET_SECONDS
    _answered_at[0] = time.monotonic()


def _is_alive() -> bool:
    """Return whether the server has answered a moment ago, or answers a new connection, if only to refuse."""
    if time.monotonic() - _answered_at[0] < QUIET_SECONDS:
        return True
    _probe.on = True
    try:
        psycopg2.connect(**connections[DEFAULT_DB_ALIAS].get_connection_params()).close()
    except psycopg2.OperationalError as error:
        return str(error) != NO_ANSWER
    finally:
        _probe.on = False
    return True
