"""Waiting jobs as pages show them."""

from __future__ import annotations

from core.models import Job, JobState


def queue_place(job: Job | None) -> int | None:
    """Which of the waiting jobs of its kind a job is, from 1; None when it does not wait, or rests."""
    if job is None or job.state != JobState.QUEUED or job.not_before is not None:
        return None
    waiting = type(job)._default_manager.filter(state=JobState.QUEUED, not_before=None)
    return waiting.filter(pk__lte=job.pk).count()
