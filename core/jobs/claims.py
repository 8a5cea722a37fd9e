"""How a worker gets its next job: the rows say which jobs wait, and exactly one worker claims each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

from core.jobs.apart import apart
from core.jobs.lifecycle import job_claim, job_take
from core.jobs.lines import line
from core.jobs.registry import SERVICES, Line, Service
from core.models import Job

HEADS, LOOKS = 8, 3
"""On SQLite: how many jobs at the head of a line are tried before it is read again, and how often it is read."""
_left_out: dict[int, Callable[[], bool]] = {}
"""The environments whose jobs this process leaves to other workers, each with a function that says whether it must."""
_taken: dict[str, list[Line]] = {}
"""By queue: the lines that take turns, in the order in which this process looks at them next."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that the caller now runs, and the function that performs it."""

    job: Job
    perform: Callable[[Any, Any], None]


def claim_next(queue: str, *, worker: str) -> Claim | None:
    """Claim the next job of a queue for a worker; None when no job of the queue can be claimed.

    Lines that are served first come in their order. The others take turns: the line served last comes last.
    """
    for environment in [environment for environment, must in _left_out.items() if not must()]:
        del _left_out[environment]
    service = SERVICES.get(queue, Service())
    by_turns = _taken.setdefault(queue, list(service.by_turns))
    for one in (*service.first, *by_turns):
        perform = None
        # Before the claim: work whose code cannot be loaded stays in line, and the other lines are served.
        with apart(f"The code of {one.perform}"):
            perform = one.action()
        if perform is not None and (job := _claim_head(waiting(one), worker)) is not None:
            if one in by_turns:
                by_turns.remove(one)
                by_turns.append(one)
            return Claim(job, perform)
    return None


def leave_out(environment: int, *, while_true: Callable[[], bool]) -> None:
    """Claim no more jobs of an environment in this process, while a function says so."""
    _left_out[environment] = while_true


def is_work_waiting(queue: str) -> bool:
    """Return whether a queue has a waiting job that a worker could claim now."""
    return any(waiting(one).exists() for one in SERVICES.get(queue, Service()).lines)


def waiting(one: Line) -> QuerySet[Job]:
    """Return the jobs that wait in a line and that this process takes, in the order in which they are taken."""
    rows = line(one.kind).filter(**one.where)
    if not _left_out or not one.kind.ENVIRONMENT:
        return rows
    return rows.exclude(**{f"{one.kind.ENVIRONMENT}__in": list(_left_out)})


def _claim_head(rows: QuerySet[Job], worker: str) -> Job | None:
    if connection.features.has_select_for_update_skip_locked:
        return _claim_unlocked(rows, worker)
    for _ in range(LOOKS):
        heads = list(rows.values_list("pk", flat=True)[:HEADS])
        for number in heads:
            # Another worker may have claimed it since the line was read.
            if (job := job_claim(kind=rows.model, job_id=number, worker=worker)) is not None:
                return job
        if not heads:
            break
    return None


def _claim_unlocked(rows: QuerySet[Job], worker: str) -> Job | None:
    """Claim the first job that no other worker is claiming."""
    kind = rows.model
    with transaction.atomic():
        free = rows.select_for_update(skip_locked=True, of=("self",), no_key=True)
        job = free.select_related(*kind.RELATED).first()
        return job if job is not None and job_take(job=job, worker=worker) else None
