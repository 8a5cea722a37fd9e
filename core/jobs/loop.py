"""The loop of a worker process: do what waits in a queue until it is asked to stop.

It does one thing after the other; in a queue whose jobs are waited for by people, several jobs at once, in threads.
"""

from __future__ import annotations

import logging
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore

from django.db import Error, close_old_connections, connection

from core.jobs.claims import Claim, claim_next, is_anything_waiting
from core.jobs.forks import ENDING
from core.jobs.heartbeat import Heartbeat
from core.jobs.hosts import worker_name
from core.jobs.messages import message_do
from core.jobs.registry import at_once
from core.jobs.scratch import work_in_own_folder
from core.jobs.stopping import ask_to_stop, is_stopping
from core.jobs.wakeups import wait
from core.jobs.worker import Performed, may_begin, step, work_on

logger = logging.getLogger(__name__)

RECYCLED_AFTER = 2000
"""Jobs after which a process ends, and is replaced, so that what it has leaked goes with it."""
BUSY_SECONDS = 60.0
"""How long after a job a process that does several at once expects the next one at any moment."""


def work(queue: str) -> None:
    """Be a worker process of a queue until SIGTERM, SIGHUP or Ctrl-C."""
    for number in ENDING:
        signal.signal(number, lambda *_: ask_to_stop())
    work_in_own_folder()
    Heartbeat(worker_name(), queue).start()
    if at_once(queue) > 1:
        serve_at_once(queue)
    else:
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


def serve_at_once(queue: str) -> None:
    """Do jobs of a queue, several at a time, until this process is asked to stop."""
    free, busy_until = Semaphore(at_once(queue)), 0.0
    with ThreadPoolExecutor(at_once(queue), queue) as threads:
        while not is_stopping():
            free.acquire()
            claim = _claim(queue)
            if claim is not None:
                busy_until = time.monotonic() + BUSY_SECONDS
                threads.submit(_work_on, queue, claim).add_done_callback(lambda _: free.release())
                continue
            free.release()
            wait(queue, is_busy=time.monotonic() < busy_until)


def _claim(queue: str) -> Claim | None:
    try:
        return claim_next(queue, worker=worker_name()) if may_begin() and is_anything_waiting(queue) else None
    except Error as error:
        logger.warning("The database does not answer this worker: %s", error)
        connection.close()
    except Exception:
        logger.exception("A worker of the queue %s could not claim a job.", queue)
    return None


def _work_on(queue: str, claim: Claim) -> None:
    close_old_connections()
    try:
        work_on(queue, claim)
    except Exception:
        logger.exception("A worker of the queue %s failed after a job.", queue)
    finally:
        close_old_connections()


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
