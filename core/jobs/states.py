"""The lifecycle of jobs: the allowed transitions, and the one function that makes them."""

from __future__ import annotations

import time
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.expressions import Combinable

from core.models.job import Job, JobFault, JobState
from core.monitoring.metrics import job_moved

AnyJob = TypeVar("AnyJob", bound=Job)

OPEN = (JobState.QUEUED, JobState.RUNNING)
"""The states of a job that is not over."""
TRANSITIONS: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    # Back to QUEUED: the lease expired, or the platform failed and attempts are left.
    JobState.RUNNING: frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.QUEUED}),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}


class IllegalTransition(Exception):
    """The lifecycle has no such transition: a mistake in the code."""


class StaleJob(Exception):
    """The row has changed since the caller read it: another process has claimed, finished or cancelled the job."""


def transition(job: Job, to: JobState, *, expected_token: UUID | None, **fields: Combinable | Any) -> None:
    """Move a job from the state that the caller knows to another, and write `fields` with it.

    One compare-and-set UPDATE on (id, state, claim_token). On return `job` has the plain values of `fields`;
    `job.refresh_from_db()` reads those that the database computed.
    Raises IllegalTransition when the lifecycle has no such transition, StaleJob when the row has changed.
    """
    origin = JobState(job.state)
    if to not in TRANSITIONS[origin]:
        raise IllegalTransition(f"A {job.KIND} in the state “{origin.label}” cannot enter the state “{to.label}”.")
    rows = type(job)._base_manager.filter(pk=job.pk, state=origin, claim_token=expected_token)
    if rows.update(state=to, **fields) != 1:
        raise StaleJob(f"{job.KIND} {job.pk} is no longer {origin} under this claim.")
    job.state = to
    for name, value in fields.items():
        if not isinstance(value, Combinable):
            setattr(job, name, value)
    if to == JobState.RUNNING:
        job.running_since = time.monotonic()
    # Every written transition of a job passes here exactly once.
    job_moved(
        kind=job.KIND,
        to=to.value,
        fault=job.fault,
        code=job.error_code,
        is_verified=getattr(job, "is_verified", True),
        seconds=seconds_running(job),
    )


def wait_until(rows: QuerySet[AnyJob], *, moment: Combinable, code: str, error: str) -> int:
    """Delay those of some jobs that wait until a moment, because of a platform fault, without costing an attempt.

    The state does not change, so `transition` is not used; claimed and finished jobs, and those that are delayed for
    longer already, stay as they are. Returns how many were delayed.
    """
    return (
        rows.filter(state=JobState.QUEUED)
        .exclude(not_before__gt=moment)
        .update(
            not_before=moment,
            attempt=0,
            fault=JobFault.PLATFORM,
            error_code=code,
            error=error,
            public_error=error_public(code, error),
        )
    )


def error_public(code: str, error: str) -> str:
    """Return what everyone may read of a platform fault; of the registry, neither its address nor its words."""
    return "The arena's registry of images fails at the moment." if code.startswith("registry_") else error


def seconds_running(job: Job) -> float | None:
    """Return the seconds since this process claimed a job; None when another process did."""
    return None if job.running_since is None else time.monotonic() - job.running_since
