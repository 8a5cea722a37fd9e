"""The loop of a worker process: do what waits in a queue, one thing after the other, until it is asked to stop."""

from __future__ import annotations

import logging
import signal

from django.db import Error, connection

from core.jobs.claims import is_anything_waiting
from core.jobs.forks import ENDING
from core.jobs.heartbeat import Heartbeat
from core.jobs.hosts import worker_name
from core.jobs.messages import message_do
from core.jobs.scratch import work_in_own_folder
from core.jobs.stopping import ask_to_stop, is_stopping
from core.jobs.wakeups import wait
from core.jobs.worker import Performed, may_begin, step

logger = logging.getLogger(__name__)

RECYCLED_AFTER = 2000
"""Jobs after which a process ends, and is replaced, so that what it has leaked goes with it."""


def work(queue: str) -> None:
    """Be a worker process of a queue until SIGTERM, SIGHUP or Ctrl-C."""
    for number in ENDING:
        signal.signal(number, lambda *_: ask_to_stop())
    work_in_own_folder()
    Heartbeat(worker_name(), queue).start()
    serve(queue)


def serve(queue: str) -> None:
    """Do messages and jobs of a queue until this process is asked to stop, or has done its share."""
    left = RECYCLED_AFTER
    while left and not is_stopping():
        outcome = _next(queue)
        # Others may not fail at what this worker has just failed at: they go first.
        if outcome in (Performed.NOTHING, Performed.GIVEN_BACK):
            wait(queue)
        else:
            left -= 1


def _next(queue: str) -> Performed:
    """Do the next message or job of a queue. Nothing that fails here ends the process."""
    try:
        if not may_begin() or not is_anything_waiting(queue):
            return Performed.NOTHING
        return Performed.DONE if message_do(queue) else step(queue)
    except Error as error:
        logger.warning("The database does not answer this worker: %s", error)
        connection.close()
    except Exception:
        logger.exception("A worker of the queue %s failed between two jobs.", queue)
    return Performed.NOTHING
