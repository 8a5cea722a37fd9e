"""The acts of people, and of decisions made for them, on jobs: move them in line, cancel them, start them again."""

from __future__ import annotations

from django.db.models.functions import Now

from core.errors import Refused
from core.jobs.lifecycle import AGAIN, UNCLAIMED, history_with, job_wake
from core.jobs.states import StaleJob, transition
from core.jobs.turns import priority_write
from core.models import CancelCode, Job, JobFault, JobState
from core.models.job import PRIORITIES

BY_OWNER = "Its owner has cancelled it."
OVER = "It is over already."
CHANGING = "Its state is changing right now; try again in a moment."


def job_prioritise(*, job: Job, priority: int) -> None:
    """Move a waiting job forward or back in its line. priority: -10 to 10. Raises Refused."""
    if not -PRIORITIES <= priority <= PRIORITIES:
        raise Refused(f"A priority is a whole number from {-PRIORITIES} to {PRIORITIES}.", field="priority")
    if not priority_write(rows=type(job)._base_manager.filter(pk=job.pk), priority=priority):
        raise Refused("Only a job that waits for its first worker has a place in line that can change.")


def job_cancel(*, job: Job, code: CancelCode, reason: str) -> None:
    """Cancel a waiting or running job. The result of a worker that still runs it is refused.

    code: for later decisions in code. reason: for people, in any words.
    """
    transition(
        job,
        JobState.CANCELLED,
        expected_token=job.claim_token,
        **UNCLAIMED,
        ended_at=Now(),
        # It may carry an earlier platform fault, which was counted at the time.
        fault=JobFault.NONE,
        error_code="cancelled",
        error=reason,
        public_error=reason,
        cancel_code=code,
    )


def job_cancel_if_open(*, job: Job, code: CancelCode, reason: str) -> bool:
    """Like `job_cancel`, but return False for a job that is over, ends at this moment or changes too quickly."""
    for _ in range(3):
        if job.is_over:
            break
        try:
            job_cancel(job=job, code=code, reason=reason)
        except StaleJob:
            # A worker has just claimed, returned or finished it.
            job.refresh_from_db()
        else:
            return True
    return False


def job_requeue(*, job: Job, reason: str) -> None:
    """Take a running job from its worker and let it start again with a full set of attempts."""
    code = "requeued"
    transition(
        job,
        JobState.QUEUED,
        expected_token=job.claim_token,
        **AGAIN,
        attempt=0,
        error_code=code,
        error=reason,
        public_error=reason,
        history=history_with(job, code, reason),
    )
    job_wake(job=job)
