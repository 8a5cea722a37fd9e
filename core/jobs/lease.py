"""The lease of a running job, and what is written to its row meanwhile."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextvars import copy_context
from copy import copy
from functools import partial
from types import TracebackType
from typing import Self

from django.conf import settings
from django.db import Error, connection

from core.jobs.lifecycle import job_give_back_stopped, job_heartbeat
from core.jobs.states import StaleJob
from core.jobs.stopping import FINISH_SHARE, GIVE_BACK_SHARE, WorkerStopped, has_grace
from core.models import Job, JobState

logger = logging.getLogger(__name__)
LOOK_SECONDS = 1.0
"""Minimum time between two writes of new log lines and progress to the row."""


class Lease:
    """Renews the lease of a running job, and carries its log and progress to the row.

    `lost` is set once the claim is lost; long work calls `raise_if_lost` regularly.
    """

    def __init__(self, job: Job) -> None:
        self.lost = threading.Event()
        self._job = job
        self._lines: list[str] = []
        self._shown = ""
        self._progress: dict[str, object] = {}
        self._changed = False
        self._also: Callable[[], None] | None = None
        self._stop = threading.Event()
        # A new thread does not inherit the log context of this job.
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
        self._changed = True

    def show(self, text: str) -> None:
        """Show a text below the log while the job runs, e.g. the end of a program's output."""
        self._changed |= text != self._shown
        self._shown = text

    def progress(self, **fields: object) -> None:
        """Set fields of the row that show progress; the values must not be changed afterwards."""
        self._progress = fields
        self._changed = True

    def every_second(self, act: Callable[[], None]) -> None:
        """Call this about once a second from the thread of the lease; no longer once it has raised an exception."""
        self._also = act

    @property
    def has_changes(self) -> bool:
        """Return whether the row lacks something that was logged, shown or set as progress."""
        return self._changed

    def raise_if_lost(self) -> None:
        """Raise StaleJob when the claim is lost, WorkerStopped when the job must be given back."""
        if not has_grace(FINISH_SHARE):
            raise WorkerStopped
        if self.lost.is_set():
            raise StaleJob(f"{self._job.KIND} {self._job.pk} was taken from this worker.")

    def beat(self) -> None:
        """Renew the lease once, with what changed since the last time."""
        self._changed = False
        try:
            text = f"{self.text}\n{self._shown}".strip()
            job_heartbeat(job=self._job, log=text or None, progress=self._progress)
        except StaleJob:
            self.lost.set()
        except Error:
            # The lease outlasts several heartbeats, and the next one may find the database again on a new connection.
            self._changed = True
            connection.close()
            logger.warning("No heartbeat for %s %s.", self._job.KIND, self._job.pk, exc_info=True)

    def _give_back(self) -> None:
        """Give the job back although its action does not check for a stop; the action's result will be refused."""
        # A copy, because the action continues with its own instance.
        job = copy(self._job)
        job.state = JobState.RUNNING
        logger.warning("%s %s is given back: it did not end before this worker stops.", job.KIND, job.pk)
        try:
            job_give_back_stopped(job=job, log=self.text)
        except (StaleJob, Error) as error:
            # It has just ended, or the reaper gives it back when its lease expires.
            logger.info("%s %s was not given back: %s", job.KIND, job.pk, error)
        self.lost.set()

    def _do_also(self) -> None:
        if self._also is None or self.lost.is_set():
            return
        try:
            self._also()
        except Exception:
            # Work beside the job must never cost it.
            self._also = None
            connection.close()
            logger.warning("Nothing more is told of %s %s.", self._job.KIND, self._job.pk, exc_info=True)

    def _run(self) -> None:
        waited = 0.0
        try:
            while not self._stop.wait(LOOK_SECONDS) and not self.lost.is_set():
                waited += LOOK_SECONDS
                if not has_grace(GIVE_BACK_SHARE):
                    self._give_back()
                    return
                if self._changed or waited >= settings.JOB_LEASE_SECONDS / 4:
                    waited = 0.0
                    self.beat()
                self._do_also()
        finally:
            connection.close()
