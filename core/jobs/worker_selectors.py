"""The known workers and their states."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.db.models import Case, QuerySet, Value, When
from django.db.models.functions import Now

from core.jobs.registry import at_once, queue_of
from core.models import Job, Worker

SILENT_AFTER = timedelta(seconds=30)
"""Time without a heartbeat after which a worker is taken for dead; it sends six in that time."""


class WorkerState(models.TextChoices):
    """The state of a worker, derived from its row by the database's clock and never stored."""

    ALIVE = "alive", "alive"
    LOST = "lost", "lost"
    STOPPED = "stopped", "stopped"


def workers_alive(queue: str | None = None) -> QuerySet[Worker]:
    """Return the living workers, of one queue or of all."""
    alive = Worker.objects.filter(stopped_at=None, seen_at__gte=Now() - SILENT_AFTER)
    return alive if queue is None else alive.filter(queue=queue)


def places_alive(kind: type[Job]) -> int:
    """Return how many jobs of a kind the living workers of its standard queue do at the same time."""
    queue = queue_of(kind)
    return workers_alive(queue).count() * at_once(queue)


def worker_rows() -> QuerySet[Worker]:
    """Return all known workers, also those that ended recently, with `state`, a value of WorkerState."""
    state = Case(
        When(stopped_at__isnull=False, then=Value(WorkerState.STOPPED.value)),
        When(seen_at__lt=Now() - SILENT_AFTER, then=Value(WorkerState.LOST.value)),
        default=Value(WorkerState.ALIVE.value),
    )
    return Worker.objects.annotate(state=state)
