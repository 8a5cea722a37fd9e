"""The reaper: takes back the work of dead workers, beside the workers of every host, every few seconds."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial

from django.db import Error, connection
from django.utils.module_loading import import_string

from arena_kit.folders import remove_abandoned
from core.jobs.apart import apart
from core.jobs.hosts import host_name, worker_name
from core.jobs.lifecycle import jobs_end_delay
from core.jobs.messages import messages_give_back, messages_thin
from core.jobs.registry import CHORES, STEPS
from core.jobs.schedules import schedules_mend
from core.jobs.scratch import FOLDERS, PREFIX
from core.operations.expiry import jobs_requeue_expired
from core.operations.keys import key_watch
from core.operations.watchdog import queues_check
from core.operations.writable import LOOK_SECONDS as WRITE_SECONDS
from core.operations.writable import WriteWatch

logger = logging.getLogger(__name__)
LOOK_SECONDS = 5.0
HOST_CHORE_SECONDS = 60.0


class Reaper:
    """A thread of a process that does no other work that could delay it.

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
            except Error as error:
                logger.warning("The reaper could not finish a round: %s", error)
            except Exception:
                logger.exception("The reaper failed.")
            finally:
                # A new connection for each round: the database may have been restarted.
                connection.close()


def reapers(queues: Sequence[str]) -> list[Reaper]:
    """Return the reapers beside the workers of some queues: one for the rows, one for their key, and one for each chore
    of their host."""
    chores = [chore for chore in CHORES if set(queues) & set(chore.queues)]
    # Where mails are sent, which is one host, so that people get each alarm once.
    watches = [Reaper(WriteWatch().look, WRITE_SECONDS)] if "publish" in queues else []
    keys = Reaper(partial(key_watch, host=host_name()), HOST_CHORE_SECONDS)
    # An engine that hangs delays its own chore only.
    return [Reaper(), keys, *watches, *(Reaper(chore, HOST_CHORE_SECONDS) for chore in chores)]


def look_around() -> None:
    """Clean up after dead workers of this host, then look after the rows."""
    with apart("The folders of dead workers"):
        remove_abandoned(FOLDERS, PREFIX)
    # First, so that alarms are raised whatever fails below.
    with apart("The check of the queues"):
        queues_check(worker=worker_name())
    look()


def look() -> None:
    """Take jobs and messages back from dead workers, mend schedules, thin out messages and run the registered steps.

    An error in one step does not stop the others.
    """
    for step in (jobs_requeue_expired, jobs_end_delay, schedules_mend, messages_give_back, messages_thin):
        with apart(step.__name__):
            step()
    for path in STEPS:
        with apart(path):
            import_string(path)()
