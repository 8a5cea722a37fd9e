"""Jobs for pages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from core.jobs.kinds import JOB_MODELS
from core.jobs.states import OPEN
from core.jobs.waits import AWAITS_PERSON
from core.models import Job, JobState


@dataclass(frozen=True, slots=True)
class QueueCount:
    """The number of waiting and running jobs of a kind."""

    kind: str
    waiting: int
    running: int


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """A failed attempt at a job. number: as counted then; requeueing begins again at 1."""

    number: int
    worker: str
    started_at: datetime | None
    ended_at: datetime
    code: str
    error: str


def attempts_of(job: Job) -> list[JobAttempt]:
    """Return the failed attempts at a job, first one first, as far back as they are kept."""
    return [
        JobAttempt(
            number=row["number"],
            worker=row["worker"],
            started_at=datetime.fromisoformat(row["started_at"]) if row["started_at"] else None,
            ended_at=datetime.fromisoformat(row["ended_at"]),
            code=row["code"],
            error=row["error"],
        )
        for row in job.history
    ]


def queue_counts() -> list[QueueCount]:
    """Return the number of waiting and running jobs by kind, with one query for each."""
    found = []
    for kind, model in JOB_MODELS.items():
        is_open = model._base_manager.filter(state__in=OPEN).exclude(AWAITS_PERSON)
        states = Counter(dict(is_open.order_by("state").values_list("state").annotate(Count("pk"))))
        found.append(QueueCount(kind, states[JobState.QUEUED], states[JobState.RUNNING]))
    return found
