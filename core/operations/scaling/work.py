"""How much work is open in some queues, and who does it, read from the rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db.models import Count, Q

from core.jobs.kinds import JOB_MODELS
from core.jobs.registry import SERVICES, QueueService
from core.jobs.worker_selectors import workers_alive
from core.models import Job, JobState
from core.operations.scaling.decision import Work

LAST = 10
"""How many ended jobs say how long one takes."""


def open_work(queues: Sequence[str]) -> list[Work]:
    """Return the open jobs of all kinds that workers of these queues do."""
    lines = [line for queue in queues for line in SERVICES.get(queue, QueueService()).lines]
    return [_work(kind) for kind in dict.fromkeys(line.kind for line in lines)]


def fixed_slots(queues: Sequence[str], hosts: Collection[str]) -> int:
    """Return how many jobs are done at once by workers that no scaler has created."""
    return workers_alive().filter(queue__in=queues).exclude(host__in=hosts).count()


def jobs_running(host: str) -> int:
    """Return how many jobs the workers of a host have claimed."""
    claimed = Q(state=JobState.RUNNING, worker__startswith=f"{host}:")
    return sum(model._base_manager.filter(claimed).count() for model in JOB_MODELS.values())


def _work(kind: type[Job]) -> Work:
    rows = kind._base_manager.order_by()
    counts = rows.filter(state__in=(JobState.QUEUED, JobState.RUNNING)).aggregate(
        waiting=Count("pk", filter=Q(state=JobState.QUEUED, not_before=None)),
        running=Count("pk", filter=Q(state=JobState.RUNNING)),
    )
    ended = rows.filter(state=JobState.SUCCEEDED, started_at__isnull=False).order_by("-ended_at")
    times = [end - start for start, end in ended.values_list("started_at", "ended_at")[:LAST] if start and end]
    seconds = sum(time.total_seconds() for time in times) / len(times) if times else 0.0
    return Work(counts["waiting"], counts["running"], seconds)
