"""The status of the queues: their workers, their waiting jobs, and what has been finished last."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Max, Min, Q

from core.jobs.kinds import JOB_MODELS
from core.jobs.messages import waiting_count
from core.jobs.registry import kinds_of
from core.jobs.states import OPEN
from core.jobs.waits import AWAITS_PERSON
from core.jobs.worker_selectors import workers_alive
from core.models import Job, JobFault, JobState

SHOWN = 5
"""The most failed jobs of a kind that are listed."""


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """A queue. messages: those that no worker has taken. oldest_at: since when the oldest waiting job has waited, in
    line or delayed. delayed: number of delayed jobs."""

    name: str
    workers: int
    running: int
    waiting: int
    delayed: int
    oldest_at: datetime | None
    finished_at: datetime | None
    messages: int


def queue_statuses() -> list[QueueStatus]:
    """Return every queue with its waiting and running jobs. One query for each kind of job, and two more."""
    alive = Counter(workers_alive().values_list("queue", flat=True))
    names = [*settings.QUEUES, *(name for name in settings.EXTRA_QUEUES if alive[name])]
    return [_queue(name, alive[name]) for name in names]


def _queue(name: str, workers: int) -> QueueStatus:
    rows = [_counts(kind) for kind in kinds_of(name)]
    oldest = [row["oldest"] for row in rows if row["oldest"]]
    finished = [row["finished"] for row in rows if row["finished"]]
    return QueueStatus(
        name=name,
        workers=workers,
        running=sum(row["running"] for row in rows),
        waiting=sum(row["waiting"] for row in rows),
        delayed=sum(row["delayed"] for row in rows),
        oldest_at=min(oldest, default=None),
        finished_at=max(finished, default=None),
        messages=waiting_count(name),
    )


def _counts(model: type[Job]) -> dict[str, Any]:
    rows = model._base_manager.order_by()
    waits = Q(state=JobState.QUEUED)
    is_open = (
        rows.filter(state__in=OPEN)
        .exclude(AWAITS_PERSON)
        .aggregate(
            running=Count("pk", filter=Q(state=JobState.RUNNING)),
            waiting=Count("pk", filter=waits & Q(not_before=None)),
            delayed=Count("pk", filter=waits & Q(not_before__isnull=False)),
            oldest=Min(model.WAITS_SINCE, filter=waits),
        )
    )
    return is_open | rows.filter(state=JobState.SUCCEEDED).aggregate(finished=Max("ended_at"))


def failed_list(since: datetime) -> list[Job]:
    """Return the last jobs of each kind that failed by the arena's fault, the newest first. A query for each kind."""
    found: list[Job] = []
    for model in JOB_MODELS.values():
        rows = model._base_manager.filter(state=JobState.FAILED, fault=JobFault.PLATFORM, ended_at__gte=since)
        found += rows.order_by("-ended_at").only("pk", "state", "fault", "error", "error_code", "ended_at", "worker")[
            :SHOWN
        ]
    return sorted(found, key=lambda job: job.ended_at or since, reverse=True)
