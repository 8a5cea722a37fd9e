"""What a worker does, one step at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django_q.models import OrmQ

from core.jobs.bells import ANSWER, WORK, answer
from core.jobs.lifecycle import job_claim
from core.jobs.registry import SERVICES, queues_of
from core.jobs.worker import Performed, perform, worker_name
from core.models import Job


def perform_one(kind: type[Job], job_id: int, action: Callable[[Any, Any], None]) -> Performed:
    """Claim this job and do it; NOTHING where it cannot be claimed."""
    job = job_claim(kind=kind, job_id=job_id, worker=worker_name())
    return Performed.NOTHING if job is None else perform(job, action)


def run(job: Job) -> Performed:
    """Claim this job and do it as its own workers do, whatever is before it in line."""
    lines = SERVICES[queues_of(job)[0]].lines
    return perform_one(type(job), job.pk, next(line.action() for line in lines if line.holds(job)))


def bells() -> list[tuple[str, str, int | str]]:
    """The messages that wait, oldest first: queue, task and argument."""
    rows = list(OrmQ.objects.order_by("pk"))
    assert all(row.task["func"] == ANSWER for row in rows)
    return [(row.key, *row.task["args"]) for row in rows]


def rung() -> list[str]:
    """The queues whose own bells wait to be answered, oldest first."""
    return [str(argument) for _, task, argument in bells() if task == WORK]


def answer_bells() -> None:
    """Do what the workers do, one message after the other, until no message is left."""
    while message := OrmQ.objects.order_by("pk").first():
        task = message.task
        message.delete()
        answer(*task["args"])
