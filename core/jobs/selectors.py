"""Jobs as pages show them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from core.jobs.kinds import JOB_MODELS
from core.models import Job, JobState


@dataclass(frozen=True, slots=True)
class QueueCount:
    """How many jobs of a kind wait and run."""

    kind: str
    waiting: int
    running: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt at a job that came to nothing. number: as the job counted then; requeueing begins anew at 1."""

    number: int
    worker: str
    started_at: datetime | None
    ended_at: datetime
    code: str
    error: str


def attempts_of(job: Job) -> list[Attempt]:
    """The attempts at a job that came to nothing, the first one first, as far back as they are kept."""
    return [
        Attempt(
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
    """What waits and runs, by kind. One query for each."""
    found = []
    for kind, model in JOB_MODELS.items():
        is_open = model._default_manager.filter(state__in=(JobState.QUEUED, JobState.RUNNING))
        states = Counter(dict(is_open.order_by("state").values_list("state").annotate(Count("pk"))))
        found.append(QueueCount(kind, states[JobState.QUEUED], states[JobState.RUNNING]))
    return found
