"""Duels and evaluations that wait because organisers have closed their environment or paused their tournament."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import QuerySet

from core.jobs.lifecycle import AnyJob, from_now, job_delay, jobs_go_on
from core.jobs.states import wait_until
from core.jobs.waits import PAUSED_CODE
from core.models import Duel, Evaluation, JobState

LOOK_AFTER = timedelta(minutes=5)
"""How long a paused job is delayed before a worker looks again. Going on wakes it at once."""


def paused_because(job: Duel | Evaluation) -> str:
    """Return why a duel or an evaluation must not begin now, as a sentence; empty when it may."""
    if job.tournament is not None and job.tournament.paused_because:
        return job.tournament.paused_because
    # Evaluations for the board go on in a closed environment.
    is_held = isinstance(job, Duel) and not job.environment.is_active
    return f"{job.environment} is closed at the moment." if is_held else ""


def job_pause(*, job: Duel | Evaluation, because: str, log: str) -> None:
    """Give back a job that a worker was about to begin. No attempt is counted."""
    job_give_back_unbegun(job=job, span=LOOK_AFTER, code=PAUSED_CODE, error=because, log=log)


def job_give_back_unbegun(*, job: Duel | Evaluation, span: timedelta, code: str, error: str, log: str) -> None:
    """Give back a job that cannot begin now. It has not begun, so it is not played if a player leaves meanwhile."""
    job_delay(job=job, span=span, code=code, error=error, log=log)
    type(job)._base_manager.filter(pk=job.pk, state=JobState.QUEUED, attempt=0).update(started_at=None)


def jobs_pause(jobs: QuerySet[AnyJob], *, because: str) -> None:
    """Delay the waiting ones of some jobs; those that are being played are played to their end."""
    wait_until(jobs, moment=from_now(LOOK_AFTER), code=PAUSED_CODE, error=because)


def paused_go_on(jobs: QuerySet[AnyJob]) -> None:
    """Put the paused ones of some jobs back in line."""
    jobs_go_on(jobs.filter(state=JobState.QUEUED, error_code=PAUSED_CODE))
