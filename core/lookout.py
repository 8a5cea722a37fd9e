"""Looks out for what dead workers leave, in every cluster and every few seconds, whatever becomes of messages."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

from django.conf import settings
from django.db import Error, connection
from redis.exceptions import RedisError

from core.folders import remove_abandoned
from core.queues import waiting_count
from core.scratch import FOLDERS, PREFIX
from core.services.jobs import jobs_requeue_expired, jobs_wake_waiting
from core.services.schedules import schedules_mend

logger = logging.getLogger(__name__)
LOOK_SECONDS = 5.0
LOST_AFTER = timedelta(seconds=20)
"""How long a job waits, while no message does in its queue, before its own is taken for lost."""


class Lookout:
    """A thread of a cluster's first process, in which nothing else is done that could hold it up."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lookout", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Return once it has stopped looking."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            try:
                remove_abandoned(FOLDERS, PREFIX)
                look()
            except (Error, RedisError) as error:
                logger.warning("The lookout cannot see all: %s", error)
            except Exception:
                logger.exception("The lookout stumbled.")
            finally:
                # A new one each time: the database may have been restarted meanwhile.
                connection.close()


def look() -> None:
    """Take jobs from dead workers, bring schedules back from a wrong clock, and wake what waits for nothing."""
    jobs_requeue_expired()
    schedules_mend()
    jobs_wake_waiting(queues=())
    # While messages wait in a queue its workers are only busy; more of them would pile up.
    idle = [queue for queue in settings.QUEUES if waiting_count(queue) == 0]
    jobs_wake_waiting(older_than=LOST_AFTER, queues=idle)
