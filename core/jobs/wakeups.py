"""How an idle worker learns of new work at once: a notification of the database, or of Redis where that is used.

A notification carries nothing, and one that is lost costs a second, because a worker looks at the rows as often.
"""

from __future__ import annotations

import logging
import select
import time
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import Error, connection, transaction

if TYPE_CHECKING:
    from redis import Redis
    from redis.client import PubSub

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Most seconds between two looks of an idle worker."""
FILE_LOOK_SECONDS = 0.25
"""The same on SQLite, which has no notifications and is read without a server."""
BUSY_LOOK_SECONDS = 0.02
"""The same on SQLite while a person may move at any moment."""


def workers_wake(queue: str) -> None:
    """Wake the idle workers of a queue, once the surrounding transaction has committed."""
    if settings.REDIS_URL:
        transaction.on_commit(lambda: _publish(queue))
    elif connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, '')", [_channel(queue)])


def wait(queue: str, *, is_busy: bool = False) -> bool:
    """Return when the workers of a queue are woken, and after a second at most; False where they were not.

    is_busy: whether work is expected at any moment, for databases that wake no worker.
    """
    if settings.REDIS_URL:
        return _wait_for_redis(queue)
    # A pooler gives a connection to each transaction, and keeps no LISTEN between two.
    if connection.vendor == "postgresql" and not settings.DATABASE_DIRECT_URL:
        return _wait_for_database(queue)
    time.sleep((BUSY_LOOK_SECONDS if is_busy else FILE_LOOK_SECONDS) if connection.vendor == "sqlite" else LOOK_SECONDS)
    return False


def _channel(queue: str) -> str:
    return f"arena_{queue}"


def _wait_for_database(queue: str) -> bool:
    try:
        with connection.cursor() as cursor:
            # Again each time, because the connection may be a new one.
            cursor.execute(f"LISTEN {_channel(queue)}")
        with connection.wrap_database_errors:
            server = connection.connection
            if not server.notifies:
                select.select([server], [], [], LOOK_SECONDS)
                server.poll()
            is_woken = bool(server.notifies)
            server.notifies.clear()
    except Error as error:
        logger.warning("The database does not answer this worker: %s", error)
        connection.close()
        time.sleep(LOOK_SECONDS)
        return False
    return is_woken


def _wait_for_redis(queue: str) -> bool:
    from redis.exceptions import RedisError

    try:
        return _subscription(queue).get_message(timeout=LOOK_SECONDS) is not None
    except RedisError:
        # Without it the rows are looked at as often as ever.
        time.sleep(LOOK_SECONDS)
        return False


def _publish(queue: str) -> None:
    from redis.exceptions import RedisError

    try:
        _client().publish(_channel(queue), "")
    except RedisError as error:
        logger.warning("The workers of %s could not be woken: %s", queue, error)


@cache
def _client() -> Redis:
    # Imported here: its client takes long to load, and is used only where REDIS_URL is set.
    from redis import Redis

    return Redis.from_url(settings.REDIS_URL, socket_timeout=0.25, socket_connect_timeout=0.25)


@cache
def _subscription(queue: str) -> PubSub:
    subscription: PubSub = _client().pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
    subscription.subscribe(_channel(queue))
    return subscription
