"""What a worker does, one step at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django_q.models import OrmQ

from core.jobs.claims import is_work_waiting
from core.jobs.hosts import worker_name
from core.jobs.lifecycle import job_claim
from core.jobs.messages import TASK, message_do
from core.jobs.registry import SERVICES, queues_of
from core.jobs.worker import Performed, perform, step
from core.models import Job


def perform_one(kind: type[Job], job_id: int, action: Callable[[Any, Any], None]) -> Performed:
    """Claim this job and do it; NOTHING where it cannot be claimed."""
    job = job_claim(kind=kind, job_id=job_id, worker=worker_name())
    return Performed.NOTHING if job is None else perform(job, action)


def run(job: Job) -> Performed:
    """Claim this job and do it as its own workers do, whatever is before it in line."""
    lines = SERVICES[queues_of(job)[0]].lines
    return perform_one(type(job), job.pk, next(line.action() for line in lines if line.holds(job)))


def requested() -> list[tuple[str, str, int | str]]:
    """The messages that wait, oldest first: queue, task and argument."""
    rows = list(OrmQ.objects.order_by("pk"))
    assert all(row.task["func"] == TASK for row in rows)
    return [(row.key, *row.task["args"]) for row in rows]


def at_work() -> list[str]:
    """The queues in which a job waits that a worker would claim now."""
    return [queue for queue in (*settings.QUEUES, *settings.EXTRA_QUEUES) if is_work_waiting(queue)]


def work(queue: str) -> None:
    """Do job after job of a queue, as its worker does until it would wait."""
    while step(queue) in (Performed.DONE, Performed.REFUSED):
        pass


def work_once() -> bool:
    """Do what is next in any queue; return False where all workers would wait."""
    return any(message_do(queue) or step(queue) is not Performed.NOTHING for queue in settings.QUEUES)


def do_requested() -> None:
    """Do what the workers do with messages, one after the other, until none is left."""
    while message := OrmQ.objects.order_by("pk").first():
        message_do(message.key)
