"""The rows that worker processes write about themselves."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.db.models.functions import Now

from core.models import Worker

KEPT = timedelta(days=1)
"""How long the row of a worker is kept after its last heartbeat."""


def worker_appear(*, name: str, **fields: object) -> Worker:
    """Register a new process; it takes over the row of an earlier process of the same name."""
    fresh: dict[str, object] = {
        "engine": "",
        "engine_error": "",
        "started_at": Now(),
        "seen_at": Now(),
        "stopped_at": None,
        "job_kind": "",
        "job_id": None,
        "jobs_done": 0,
        "faults": 0,
        "last_fault": "",
        "last_fault_at": None,
    }
    worker, _ = Worker.objects.update_or_create(name=name, defaults=fresh | fields)
    return worker


def worker_beat(*, worker: Worker, fields: Mapping[str, object]) -> bool:
    """Write a heartbeat with what has changed; return False when the row is gone."""
    return Worker.objects.filter(pk=worker.pk).update(seen_at=Now(), **fields) == 1


def worker_stop(*, worker: Worker) -> None:
    """Note that a worker has ended in order."""
    Worker.objects.filter(pk=worker.pk).update(seen_at=Now(), stopped_at=Now(), job_kind="", job_id=None)


def workers_prune() -> int:
    """Delete the workers whose last heartbeat was long ago; return how many."""
    return Worker.objects.filter(seen_at__lt=Now() - KEPT).delete()[0]
