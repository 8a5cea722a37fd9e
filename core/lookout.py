"""Looks out for what dead workers leave, in every cluster and every few seconds, whatever becomes of messages."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from django.db import Error, connection
from django.utils.module_loading import import_string

from core.folders import remove_abandoned
from core.scratch import FOLDERS, PREFIX
from core.services.jobs import jobs_requeue_expired, jobs_wake_waiting
from core.services.schedules import schedules_mend
from core.services.watch import watch
from core.worker import worker_name

logger = logging.getLogger(__name__)
LOOK_SECONDS = 5.0
HOST_CHORE_SECONDS = 60.0
# By name: rooms may know the core, never the other way round.
HOST_CHORES = dict.fromkeys(("duel", "quick"), "duel_runner.tasks.leftovers_reap")
"""By queue: what every host with a cluster of it must do for itself, as its engine is its own."""


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
            except Error as error:
                logger.warning("The lookout cannot see the database: %s", error)
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
    """Clear up after dead workers of this host, then in the rows."""
    remove_abandoned(FOLDERS, PREFIX)
    look()
    watch(worker=worker_name())


def look() -> None:
    """Take jobs from dead workers, wake what has rested enough, and bring schedules back from a wrong clock."""
    jobs_requeue_expired()
    jobs_wake_waiting(queues=())
    schedules_mend()
