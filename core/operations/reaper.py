"""The reaper: takes back the work of dead workers, in every cluster, every few seconds, even if all bells are lost."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable

from django.conf import settings
from django.db import Error, connection
from django.utils.module_loading import import_string

from arena_kit.folders import remove_abandoned
from core.jobs.apart import apart
from core.jobs.bells import ring
from core.jobs.claims import is_work_waiting
from core.jobs.lifecycle import jobs_end_delay
from core.jobs.registry import CHORES, STEPS
from core.jobs.schedules import schedules_mend
from core.jobs.scratch import FOLDERS, PREFIX
from core.jobs.worker import worker_name
from core.operations.expiry import jobs_requeue_expired
from core.operations.watchdog import watch

logger = logging.getLogger(__name__)
LOOK_SECONDS = 5.0
HOST_CHORE_SECONDS = 60.0


class Reaper:
    """A thread of a cluster's first process, which does no other work that could delay it.

    look: called every `seconds`; it may raise any exception.
    """

    def __init__(self, look: Callable[[], object] | None = None, seconds: float = LOOK_SECONDS) -> None:
        self._look = look or look_around
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reaper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Stop the thread and wait for its end."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                self._look()
            except Exception as error:
                if _is_outage(error):
                    logger.warning("The reaper could not finish a round: %s", error)
                else:
                    logger.exception("The reaper failed.")
            finally:
                # A new connection for each round: the database may have been restarted.
                connection.close()


def _is_outage(error: Exception) -> bool:
    """Return whether the database or Redis has failed, whose client is loaded only where it is used."""
    redis = sys.modules.get("redis.exceptions")
    return isinstance(error, Error) or (redis is not None and isinstance(error, redis.RedisError))


def reapers(queue: str) -> list[Reaper]:
    """Return a cluster's reapers: one for the rows, and one for each chore of its host, which an engine may delay."""
    chores = [chore for chore in CHORES if queue in chore.queues]
    return [Reaper(), *(Reaper(chore, HOST_CHORE_SECONDS) for chore in chores)]


def look_around() -> None:
    """Clean up after dead workers of this host, then look after the rows."""
    with apart("The folders of dead workers"):
        remove_abandoned(FOLDERS, PREFIX)
    # First, so that alarms are raised even when no bell can be rung.
    with apart("The watch over the queues"):
        watch(worker=worker_name())
    look()


def look() -> None:
    """Take jobs back from dead workers, mend schedules, ring for waiting work and run the registered steps.

    An error in one step does not stop the others.
    """
    for step in (jobs_requeue_expired, jobs_end_delay, schedules_mend, queues_ring):
        with apart(step.__name__):
            step()
    for path in STEPS:
        with apart(path):
            import_string(path)()


def queues_ring() -> None:
    """Ring the bell of every queue in which work waits: its last message may be lost, or no worker was free."""
    for queue in (*settings.QUEUES, *settings.EXTRA_QUEUES):
        with apart(f"The bell of the queue {queue}"):
            if is_work_waiting(queue):
                ring(queue)
