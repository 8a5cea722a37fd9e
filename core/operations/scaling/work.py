"""How much work is open in some queues, and who does it, read from the rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from operator import or_

from django.db.models import Count, Q

from core.jobs.kinds import JOB_MODELS
from core.jobs.registry import SERVICES, QueueService
from core.jobs.states import OPEN
from core.jobs.worker_selectors import workers_alive
from core.models import Job, JobState, WorkerHost
from core.operations.scaling.decision import Work

LAST = 10
"""How many ended jobs give the estimate of how long one takes."""


def open_work(queues: Sequence[str], *, leaving: Collection[str]) -> list[Work]:
    """Return the open jobs of all kinds that workers of these queues do.

    leaving: hosts that finish what they do; it needs no other host.
    """
    lines = [line for queue in queues for line in SERVICES.get(queue, QueueService()).lines]
    theirs = reduce(or_, (Q(worker__startswith=f"{host}:") for host in leaving), Q(pk__in=()))
    return [_work(kind, theirs) for kind in dict.fromkeys(line.kind for line in lines)]


def fixed_slots(queues: Sequence[str]) -> int:
    """Return how many jobs are done at once by workers that no scaler has created."""
    ours = WorkerHost.objects.values("name")
    return workers_alive().filter(queue__in=queues).exclude(host__in=ours).count()


def jobs_running(host: str) -> int:
    """Return how many jobs the workers of a host have claimed."""
    claimed = Q(state=JobState.RUNNING, worker__startswith=f"{host}:")
    return sum(model._base_manager.filter(claimed).count() for model in JOB_MODELS.values())


def _work(kind: type[Job], theirs: Q) -> Work:
    rows = kind._base_manager.order_by()
    counts = rows.filter(state__in=OPEN).aggregate(
        waiting=Count("pk", filter=Q(state=JobState.QUEUED, not_before=None)),
        running=Count("pk", filter=Q(state=JobState.RUNNING) & ~theirs),
    )
    ended = rows.filter(state=JobState.SUCCEEDED, started_at__isnull=False).order_by("-ended_at")
    times = [end - start for start, end in ended.values_list("started_at", "ended_at")[:LAST] if start and end]
    seconds = sum(time.total_seconds() for time in times) / len(times) if times else 0.0
    return Work(counts["waiting"], counts["running"], seconds)
