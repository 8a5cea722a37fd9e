"""The status of the queues: their workers, their waiting jobs, and what has been finished last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Count, DateTimeField, F, Min, Q, Value
from django.db.models.functions import Cast

from core.jobs.kinds import JOB_MODELS
from core.jobs.messages import waiting_count
from core.jobs.registry import kinds_of
from core.jobs.states import OPEN
from core.jobs.waits import AWAITS_PERSON
from core.jobs.worker_selectors import workers_alive
from core.lookup import ByKey, moment_read
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


class JobSums(NamedTuple):
    """Sums over the jobs of a kind, with the fields of QueueStatus."""

    kind: str
    running: int
    waiting: int
    delayed: int
    oldest_at: datetime | str | None
    finished_at: datetime | str | None


def queue_statuses() -> list[QueueStatus]:
    """Return every queue with its waiting and running jobs. Two queries, and one for each queue."""
    alive = Counter(workers_alive().values_list("queue", flat=True))
    sums = [JobSums(*row) for row in SUMS()]
    names = [*settings.QUEUES, *(name for name in settings.EXTRA_QUEUES if alive[name])]
    return [_queue(name, alive[name], sums) for name in names]


def _queue(name: str, workers: int, sums: list[JobSums]) -> QueueStatus:
    kinds = {kind.KIND for kind in kinds_of(name)}
    rows = [row for row in sums if row.kind in kinds]
    return QueueStatus(
        name=name,
        workers=workers,
        running=sum(row.running for row in rows),
        waiting=sum(row.waiting for row in rows),
        delayed=sum(row.delayed for row in rows),
        oldest_at=min((moment_read(row.oldest_at) for row in rows if row.oldest_at), default=None),
        finished_at=max((moment_read(row.finished_at) for row in rows if row.finished_at), default=None),
        messages=waiting_count(name),
    )


def _sums() -> Any:
    """Return up to two rows for each kind of job: one of those that are open, and one of that which ended last."""
    first, *others = (rows for kind in JOB_MODELS.values() for rows in _sums_of(kind))
    return first.union(*others, all=True)


def _sums_of(kind: type[Job]) -> Iterator[Any]:
    rows: Any = kind._base_manager.annotate(kind=Value(kind.KIND)).order_by()
    waits, no_time = Q(state=JobState.QUEUED), Cast(Value(None), DateTimeField())
    sums = {
        "running": Count("pk", filter=Q(state=JobState.RUNNING)),
        "waiting": Count("pk", filter=waits & Q(not_before=None)),
        "delayed": Count("pk", filter=waits & Q(not_before__isnull=False)),
        "oldest": Min(kind.WAITS_SINCE, filter=waits),
        "finished": no_time,
    }
    open_ones = rows.filter(state__in=OPEN).exclude(AWAITS_PERSON)
    yield open_ones.values("kind").annotate(**sums).values_list("kind", *sums)
    ended = rows.filter(state=JobState.SUCCEEDED, ended_at__isnull=False).order_by("-ended_at").values("pk")[:1]
    nothing = {"running": Value(0), "waiting": Value(0), "delayed": Value(0), "oldest": no_time}
    yield rows.filter(pk__in=ended).annotate(**nothing, finished=F("ended_at")).values_list("kind", *sums)


SUMS = ByKey(_sums)


def failed_list(since: datetime) -> list[Job]:
    """Return the last jobs of each kind that failed by the arena's fault, the newest first. A query for each kind."""
    found: list[Job] = []
    for model in JOB_MODELS.values():
        rows = model._base_manager.filter(state=JobState.FAILED, fault=JobFault.PLATFORM, ended_at__gte=since)
        found += rows.order_by("-ended_at").only("pk", "state", "fault", "error", "error_code", "ended_at", "worker")[
            :SHOWN
        ]
    return sorted(found, key=lambda job: job.ended_at or since, reverse=True)
