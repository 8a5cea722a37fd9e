"""How a worker works: claim the next job, keep its lease alive, finish it or give it back; and again."""

from __future__ import annotations

import logging
import mmap
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from copy import copy
from enum import Enum
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from django.conf import settings
from django.db import Error, close_old_connections, connection

from arena_kit.image.engine import engine_is_down
from arena_kit.log_context import bound
from core.errors import StoreFailed
from core.jobs.artifacts import store_is_down
from core.jobs.bells import ring
from core.jobs.claims import claim_next, is_work_waiting
from core.jobs.heartbeat import activity
from core.jobs.lifecycle import job_hand_back, job_heartbeat, job_release
from core.jobs.log import job_about, log_end, log_start
from core.jobs.states import StaleJob
from core.models import Job, JobState
from core.operations.metrics import job_refused

logger = logging.getLogger(__name__)
AnyJob = TypeVar("AnyJob", bound=Job)

AWAKE_SECONDS = 60.0
"""How long a worker goes from job to job before it looks at the other messages of its queue."""
NEWS_SECONDS = 1.0
"""New log lines and progress reach the row at most this often."""

PERSISTS: dict[str, Callable[[], bool]] = {
    "engine_unavailable": engine_is_down,
    "store_full": store_is_down,
    "store_failed": store_is_down,
}
"""By the code of a fault that would meet every job: whether it is still there."""

_trouble: Callable[[], bool] | None = None
"""Of the last job that this process gave back for such a fault. While it is there no other job is taken, so that an
outage does not use up the attempts of all that wait."""

_stopping = mmap.mmap(-1, 8)
"""When the workers were asked to stop, 0 before: a float that a process shares with all that it forks. The clock is
monotonic and that of the whole machine."""
FINISH_SHARE, HAND_BACK_SHARE = 1 / 2, 3 / 4
"""Of STOP_GRACE_SECONDS: what runs may end within the first share; then it is given back as soon as it looks, and after
the second share also where it does not look. At the end of the grace the process is killed."""


class PlatformFault(Exception):
    """The arena, not the submission, failed: the job is tried again on the platform's own budget."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class Performed(Enum):
    """What a worker has done in one step."""

    NOTHING = "nothing"
    """There was no job to do, or none that this worker may begin."""
    DONE = "done"
    GIVEN_BACK = "given back"
    REFUSED = "refused"
    """Another worker holds the job by now, or it was cancelled: what this worker has made of it counts for nothing."""


class WorkerStopped(Exception):
    """This worker was asked to stop: what it does is given back and starts again elsewhere."""


def ask_to_stop() -> None:
    """Let this process and those it has forked begin nothing more; may be called by a signal handler."""
    if not is_stopping():
        struct.pack_into("d", _stopping, 0, time.monotonic())


def is_stopping() -> bool:
    """Whether this process was asked to stop."""
    return _asked_at() > 0


def _asked_at() -> float:
    (asked_at,) = struct.unpack_from("d", _stopping)
    return float(asked_at)


def _has_grace(share: float) -> bool:
    """Whether this share of the grace is not over yet, or this process goes on anyway."""
    return not is_stopping() or time.monotonic() < _asked_at() + share * settings.STOP_GRACE_SECONDS


def worker_name() -> str:
    """This process, as shown beside the jobs it runs."""
    return f"{socket.gethostname()}:{os.getpid()}"


def work(queue: str) -> None:
    """Answer the bell of a queue: do job after job, until none waits or it is time to look at other messages.

    A bell wakes one worker. Where there is more to do than its first job, that worker rings for the next one.
    """
    until = time.monotonic() + AWAKE_SECONDS
    outcome = step(queue, before=partial(_ring_if_work_waits, queue))
    while outcome in (Performed.DONE, Performed.REFUSED) and time.monotonic() < until:
        outcome = step(queue)
    # A worker that has just failed at a job goes to the end of the line of workers: others may be well.
    if outcome is not Performed.NOTHING:
        _ring_if_work_waits(queue)


def step(queue: str, *, before: Callable[[], None] | None = None) -> Performed:
    """Claim the next job of a queue and do it; NOTHING where none waits, or where this worker begins nothing.

    before: called between the claim and the work.
    """
    claim = None if is_stopping() or not is_well() else claim_next(queue, worker=worker_name())
    if claim is None:
        return Performed.NOTHING
    if before is not None:
        before()
    return perform(claim.job, claim.perform)


def _ring_if_work_waits(queue: str) -> None:
    try:
        if is_work_waiting(queue):
            ring(queue)
    except Error as error:
        # The reaper rings when the database is back; what was claimed is to be done now.
        logger.warning("It could not be seen whether more work waits in the queue %s: %s", queue, error)


def is_well() -> bool:
    """Whether what troubled this process is over; for the jobs that it leaves alone the reaper rings again."""
    global _trouble  # noqa: PLW0603  # one for each process, like the process itself
    if _trouble is not None and _trouble():
        logger.warning("This worker takes no job: what failed the last one is not over yet.")
        return False
    _trouble = None
    return True


def perform(job: AnyJob, action: Callable[[AnyJob, Lease], None]) -> Performed:
    """Do a job that was claimed: run `action`, which finishes it; give it back when the platform fails."""
    outcome = Performed.GIVEN_BACK
    activity.begin(job)
    with bound(**job_about(job, worker_name())):
        log_start(job)
        try:
            outcome = _do(job, action)
        finally:
            activity.end(is_done=outcome is Performed.DONE)
            log_end(job, is_refused=outcome is Performed.REFUSED)
    return outcome


def _do(job: AnyJob, action: Callable[[AnyJob, Lease], None]) -> Performed:
    with Lease(job) as lease:
        try:
            lease.raise_if_lost()
            action(job, lease)
        except WorkerStopped:
            logger.info("%s %s is given back: this worker stops.", job.KIND, job.pk)
            _give_back(job, lambda: job_hand_back(job=job, log=lease.text))
            return Performed.GIVEN_BACK
        except StaleJob:
            logger.warning("The result of %s %s came too late and was refused.", job.KIND, job.pk)
            job_refused(kind=job.KIND)
            return Performed.REFUSED
        except (PlatformFault, StoreFailed) as fault:
            global _trouble  # noqa: PLW0603  # see is_well
            _trouble = PERSISTS.get(fault.code)
            logger.error("%s %s: %s (%s)", job.KIND, job.pk, fault, fault.code)
            code, error = fault.code, str(fault)
            activity.fault(f"{job.KIND} {job.pk}: {error} ({code})")
            _give_back(job, lambda: job_release(job=job, code=code, error=error, log=lease.text))
            return Performed.GIVEN_BACK
        except Exception:
            logger.exception("%s %s broke a worker.", job.KIND, job.pk)
            error = "Something went wrong inside the arena, not in the submission."
            activity.fault(f"{job.KIND} {job.pk}: the code of the arena broke (internal_error); see the worker's log.")
            _give_back(job, lambda: job_release(job=job, code="internal_error", error=error, log=lease.text))
            return Performed.GIVEN_BACK
    return Performed.DONE


def _give_back(job: Job, write: Callable[[], None]) -> None:
    close_old_connections()
    # A result that could not be written has left its state in memory only; the row decides whether it is still ours.
    job.state = JobState.RUNNING
    try:
        write()
    except StaleJob:
        logger.warning("%s %s was taken from this worker meanwhile.", job.KIND, job.pk)
    except Error as error:
        # Then nobody renews its lease, and when that ends it is given back.
        logger.warning("%s %s could not be given back: %s", job.KIND, job.pk, error)


class Lease:
    """The sign of life of a running job: renews its lease and carries its log and progress to the row.

    `lost` is set once another worker holds the job or it was cancelled; long work calls `raise_if_lost` now and then.
    """

    def __init__(self, job: Job) -> None:
        self.lost = threading.Event()
        self._job = job
        self._lines: list[str] = []
        self._shown = ""
        self._progress: dict[str, object] = {}
        self._news = False
        self._stop = threading.Event()
        # A thread begins without what the log knows of this job.
        run = partial(copy_context().run, self._run)
        self._thread = threading.Thread(target=run, name=f"lease-{job.KIND}-{job.pk}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def text(self) -> str:
        """The whole log so far."""
        return "\n".join(self._lines)

    def log(self, line: str) -> None:
        self._lines.append(line)
        self._news = True

    def show(self, text: str) -> None:
        """Show something below the log for as long as the job runs, e.g. the end of a program's output."""
        self._news |= text != self._shown
        self._shown = text

    def progress(self, **fields: object) -> None:
        """Fields of the row that say how far the job is; values must not be changed afterwards."""
        self._progress = fields
        self._news = True

    def raise_if_lost(self) -> None:
        """Raise StaleJob when the job is no longer ours, WorkerStopped when it shall be given back."""
        if not _has_grace(FINISH_SHARE):
            raise WorkerStopped
        if self.lost.is_set():
            raise StaleJob(f"{self._job.KIND} {self._job.pk} was taken from this worker.")

    def beat(self) -> None:
        """Renew the lease once, with the news since the last time."""
        self._news = False
        try:
            text = f"{self.text}\n{self._shown}".strip()
            job_heartbeat(job=self._job, log=text or None, progress=self._progress)
        except StaleJob:
            self.lost.set()
        except Error:
            # The lease outlasts several beats; the next one may find the database again, on a new connection. It comes
            # soon, as with all news.
            self._news = True
            connection.close()
            logger.warning("No heartbeat for %s %s.", self._job.KIND, self._job.pk, exc_info=True)

    def _hand_back(self) -> None:
        """Give the job back under an action that does not look; what it comes to will be refused."""
        # A copy: the action goes on with its own.
        job = copy(self._job)
        job.state = JobState.RUNNING
        logger.warning("%s %s is given back: this worker stops, and it did not end in time.", job.KIND, job.pk)
        try:
            job_hand_back(job=job, log=self.text)
        except (StaleJob, Error) as error:
            # It has just ended, or its lease gives it back.
            logger.info("%s %s was not given back: %s", job.KIND, job.pk, error)
        self.lost.set()

    def _run(self) -> None:
        waited = 0.0
        try:
            while not self._stop.wait(NEWS_SECONDS) and not self.lost.is_set():
                waited += NEWS_SECONDS
                if not _has_grace(HAND_BACK_SHARE):
                    self._hand_back()
                    return
                if self._news or waited >= settings.JOB_LEASE_SECONDS / 4:
                    waited = 0.0
                    self.beat()
        finally:
            connection.close()
