"""Waiting jobs as pages show them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count

from core.models import Job, JobState
from core.services.jobs import JOB_MODELS


@dataclass(frozen=True, slots=True)
class QueueCount:
    """How many jobs of a kind wait and run."""

    kind: str
    waiting: int
    running: int


def queue_place(job: Job | None) -> int | None:
    """Which of the waiting jobs of its kind a job is, from 1; None when it does not wait, or rests."""
    if job is None or job.state != JobState.QUEUED or job.not_before is not None:
        return None
    waiting = type(job)._default_manager.filter(state=JobState.QUEUED, not_before=None)
    return waiting.filter(pk__lte=job.pk).count()


def queue_counts() -> list[QueueCount]:
    """What waits and runs, by kind. One query for each."""
    found = []
    for kind, model in JOB_MODELS.items():
        is_open = model._default_manager.filter(state__in=(JobState.QUEUED, JobState.RUNNING))
        states = Counter(dict(is_open.order_by("state").values_list("state").annotate(Count("pk"))))
        found.append(QueueCount(kind, states[JobState.QUEUED], states[JobState.RUNNING]))
    return found
