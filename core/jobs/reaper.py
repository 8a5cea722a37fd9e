"""Looks out for what dead workers leave, in every cluster and every few seconds, whatever becomes of messages."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db import Error, connection
from django.utils.module_loading import import_string
from redis.exceptions import RedisError

from arena_kit.folders import remove_abandoned
from core.jobs.bells import waiting_count
from core.jobs.lifecycle import jobs_requeue_expired, jobs_wake_waiting
from core.jobs.schedules import schedules_mend
from core.jobs.scratch import FOLDERS, PREFIX
from core.jobs.watchdog import watch
from core.jobs.worker import worker_name
from core.submissions.promotions import promotions_decide

logger = logging.getLogger(__name__)
LOOK_SECONDS = 5.0
HOST_CHORE_SECONDS = 60.0
# By name: rooms may know the core, never the other way round.
HOST_CHORES = dict.fromkeys(("duel", "quick"), "duel_runner.tasks.leftovers_reap")
"""By queue: what every host with a cluster of it must do for itself, as its engine is its own."""
LOST_AFTER = timedelta(seconds=20)
"""How long a job waits, while no message does in its queue, before its own is taken for lost."""


class Lookout:
    """A thread of a cluster's first process, in which nothing else is done that could hold it up.

    look: what is done every so many seconds; it may raise what it likes.
    """

    def __init__(self, look: Callable[[], object] | None = None, seconds: float = LOOK_SECONDS) -> None:
        self._look = look or look_around
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lookout", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Return once it has stopped looking."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                self._look()
            except (Error, RedisError) as error:
                logger.warning("The lookout cannot see all: %s", error)
            except Exception:
                logger.exception("The lookout stumbled.")
            finally:
                # A new one each time: the database may have been restarted meanwhile.
                connection.close()


def lookouts(queue: str) -> list[Lookout]:
    """Those of a cluster: one for the rows, and one for what its host alone can clear up, which an engine may delay."""
    chore = HOST_CHORES.get(queue)
    return [Lookout()] if chore is None else [Lookout(), Lookout(import_string(chore), HOST_CHORE_SECONDS)]


def look_around() -> None:
    """Clear up after dead workers of this host, then look after the rows."""
    remove_abandoned(FOLDERS, PREFIX)
    # First: that messages cannot be counted is no reason not to call anybody.
    watch(worker=worker_name())
    look()


def look() -> None:
    """Take jobs from dead workers, bring schedules back from a wrong clock, wake what waits for nothing, and decide
    promotions that nobody else has.
    """
    jobs_requeue_expired()
    schedules_mend()
    jobs_wake_waiting(queues=())
    # While messages wait in a queue its workers are only busy; more of them would pile up.
    idle = [queue for queue in settings.QUEUES if waiting_count(queue) == 0]
    jobs_wake_waiting(older_than=LOST_AFTER, queues=idle)
    promotions_decide()
