"""The lifecycle of jobs: which moves exist, and the one function that makes them."""

from __future__ import annotations

import time
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.expressions import Combinable

from core.models.job import Job, JobFault, JobState
from core.operations.metrics import job_moved

AnyJob = TypeVar("AnyJob", bound=Job)

TRANSITIONS: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    # Back to QUEUED: the lease expired, or the platform failed and attempts are left.
    JobState.RUNNING: frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.QUEUED}),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}


class IllegalTransition(Exception):
    """The lifecycle has no such move: a mistake in the code."""


class StaleJob(Exception):
    """The row is no longer as the caller knows it: somebody else claimed, finished or cancelled the job."""


def transition(job: Job, to: JobState, *, expected_token: UUID | None, **fields: Combinable | Any) -> None:
    """Move a job from the state the caller knows to another, writing `fields` along with it.

    One compare-and-set UPDATE on (id, state, claim_token). On return `job` holds the plain values of
    `fields`; values computed by the database are read back by `job.refresh_from_db()`.
    Raises IllegalTransition when the lifecycle has no such move, StaleJob when the row has moved on.
    """
    origin = JobState(job.state)
    if to not in TRANSITIONS[origin]:
        raise IllegalTransition(f"A {job.KIND} in the state “{origin.label}” cannot get the state “{to.label}”.")
    rows = type(job)._default_manager.filter(pk=job.pk, state=origin, claim_token=expected_token)
    if rows.update(state=to, **fields) != 1:
        raise StaleJob(f"{job.KIND} {job.pk} is no longer {origin} under this claim.")
    job.state = to
    for name, value in fields.items():
        if not isinstance(value, Combinable):
            setattr(job, name, value)
    if to == JobState.RUNNING:
        job.running_since = time.monotonic()
    # Every job passes here exactly once for each move that was written.
    job_moved(
        kind=job.KIND,
        to=to.value,
        fault=job.fault,
        code=job.error_code,
        is_verified=getattr(job, "is_verified", True),
        seconds=seconds_running(job),
    )


def wait_until(rows: QuerySet[AnyJob], *, moment: Combinable, code: str, error: str) -> int:
    """Have those of some jobs that wait begin at a moment only, by a fault of the platform that costs no attempt.

    No move, so `transition` has no part in it; jobs that were claimed or are over stay as they are. Returns how many.
    """
    return rows.filter(state=JobState.QUEUED).update(
        not_before=moment,
        attempt=0,
        fault=JobFault.PLATFORM,
        error_code=code,
        error=error,
        public_error=error,
    )


def seconds_running(job: Job) -> float | None:
    """How long ago this process has claimed a job; None where another did."""
    return None if job.running_since is None else time.monotonic() - job.running_since
