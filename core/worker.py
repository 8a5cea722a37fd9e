"""How a worker performs one job: claim it, keep its lease alive, finish it or give it back."""

from __future__ import annotations

import logging
import mmap
import os
import socket
import threading
from collections.abc import Callable
from contextvars import copy_context
from enum import Enum
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from django.conf import settings
from django.db import Error, close_old_connections, connection

from core.beacon import activity
from core.job_log import job_about, log_end, log_start
from core.log_context import bound
from core.models import Job, JobState
from core.services.jobs import job_claim, job_hand_back, job_heartbeat, job_release, job_take
from core.states import StaleJob

logger = logging.getLogger(__name__)
AnyJob = TypeVar("AnyJob", bound=Job)

NEWS_SECONDS = 1.0
"""New log lines and progress reach the row at most this often."""

_stopping = mmap.mmap(-1, 1)
"""Not 0 once the workers shall stop: a byte that a process shares with all that it forks."""


class PlatformFault(Exception):
    """The arena, not the submission, failed: the job is tried again on the platform's own budget."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class Performed(Enum):
    """What became of a job that a worker was to do."""

    NOT_CLAIMED = "not claimed"
    DONE = "done"
    GIVEN_BACK = "given back"


class WorkerStopped(Exception):
    """This worker was asked to stop: what it does is given back and starts again elsewhere."""


def ask_to_stop() -> None:
    """Let this process and those it has forked give back their jobs; may be called by a signal handler."""
    _stopping[0] = 1


def is_stopping() -> bool:
    """Whether this process was asked to stop."""
    return _stopping[0] != 0


def worker_name() -> str:
    """This process, as shown beside the jobs it runs."""
    return f"{socket.gethostname()}:{os.getpid()}"


def perform(kind: type[AnyJob], job_id: int, action: Callable[[AnyJob, Pulse], None]) -> Performed:
    """Claim a job and run `action`, which finishes it; give it back when the platform fails.

    Does nothing when the job is gone, taken or over: messages may come twice or late.
    """
    job = job_claim(kind=kind, job_id=job_id, worker=worker_name())
    return Performed.NOT_CLAIMED if job is None else _perform(job, action)


def perform_waiting(job: AnyJob, action: Callable[[AnyJob, Pulse], None]) -> Performed:
    """As `perform`, for a job that was read a moment ago, along with its RELATED."""
    return _perform(job, action) if job_take(job=job, worker=worker_name()) else Performed.NOT_CLAIMED


def _perform(job: AnyJob, action: Callable[[AnyJob, Pulse], None]) -> Performed:
    outcome = Performed.GIVEN_BACK
    activity.begin(job)
    with bound(**job_about(job, worker_name())):
        log_start(job)
        try:
            outcome = _do(job, action)
        finally:
            activity.end(is_done=outcome is Performed.DONE)
            log_end(job)
    return outcome


def _do(job: AnyJob, action: Callable[[AnyJob, Pulse], None]) -> Performed:
    with Pulse(job) as pulse:
        try:
            pulse.raise_if_lost()
            action(job, pulse)
        except WorkerStopped:
            logger.info("%s %s is given back: this worker stops.", job.KIND, job.pk)
            _give_back(job, lambda: job_hand_back(job=job, log=pulse.text))
            return Performed.GIVEN_BACK
        except StaleJob:
            logger.warning("The result of %s %s came too late and was refused.", job.KIND, job.pk)
        except PlatformFault as fault:
            logger.error("%s %s: %s (%s)", job.KIND, job.pk, fault, fault.code)
            code, error = fault.code, str(fault)
            activity.fault(f"{job.KIND} {job.pk}: {error} ({code})")
            _give_back(job, lambda: job_release(job=job, code=code, error=error, log=pulse.text))
            return Performed.GIVEN_BACK
        except Exception:
            logger.exception("%s %s broke a worker.", job.KIND, job.pk)
            error = "Something went wrong inside the arena, not in the submission."
            activity.fault(f"{job.KIND} {job.pk}: the code of the arena broke (internal_error); see the worker's log.")
            _give_back(job, lambda: job_release(job=job, code="internal_error", error=error, log=pulse.text))
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


class Pulse:
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
        self._thread = threading.Thread(target=run, name=f"pulse-{job.KIND}-{job.pk}", daemon=True)

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
        if _stopping[0]:
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
            # The lease outlasts several beats; the next one may find the database again, on a new connection.
            connection.close()
            logger.warning("No heartbeat for %s %s.", self._job.KIND, self._job.pk, exc_info=True)

    def _run(self) -> None:
        waited = 0.0
        try:
            while not self._stop.wait(NEWS_SECONDS) and not self.lost.is_set():
                waited += NEWS_SECONDS
                if self._news or waited >= settings.JOB_LEASE_SECONDS / 4:
                    waited = 0.0
                    self.beat()
        finally:
            connection.close()
