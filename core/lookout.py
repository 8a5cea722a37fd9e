"""Looks out for what dead workers leave, in every cluster and every few seconds, whatever becomes of messages."""

from __future__ import annotations

import logging
import threading

from django.db import Error, connection

from core.folders import remove_abandoned
from core.scratch import FOLDERS, PREFIX
from core.services.jobs import jobs_requeue_expired, jobs_wake_waiting
from core.services.schedules import schedules_mend

logger = logging.getLogger(__name__)
LOOK_SECONDS = 5.0


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
            except Error as error:
                logger.warning("The lookout cannot see the database: %s", error)
            except Exception:
                logger.exception("The lookout stumbled.")
            finally:
                # A new one each time: the database may have been restarted meanwhile.
                connection.close()


def look() -> None:
    """Take jobs from dead workers, wake what has rested enough, and bring schedules back from a wrong clock."""
    jobs_requeue_expired()
    jobs_wake_waiting(queues=())
    schedules_mend()
