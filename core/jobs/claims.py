"""How a worker gets its next job: the rows show which jobs wait, and exactly one worker claims each.

Some lines of a queue are served last, because their jobs take long. Its workers leave them to another queue's while
workers of that one live. Otherwise they take such a job when nothing else waits, or after ten minutes without one,
so that none starves; and one of several workers always stays free for the other lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

from core.jobs.apart import apart
from core.jobs.lifecycle import job_claim, job_take
from core.jobs.lines import line, of_line
from core.jobs.locks import name_lock
from core.jobs.messages import messages
from core.jobs.registry import SERVICES, Line, QueueService
from core.jobs.rota import Rota
from core.jobs.worker_selectors import workers_alive
from core.models import Job, JobState

HEADS, LOOKS = 8, 3
"""On SQLite: how many jobs at the head of a line are tried before it is read again, and how often it is read."""
_left_out: dict[int, Callable[[], bool]] = {}
"""The environments whose jobs this process leaves to other workers, each with a function that says whether it must."""
_rotas: dict[str, Rota] = {}
"""By queue: what this process remembers between two claims."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that the caller now runs, and the function that performs it."""

    job: Job
    perform: Callable[[Any, Any], None]
    line: Line


def claim_next(queue: str, *, worker: str) -> Claim | None:
    """Claim the next job of a queue for a worker; None when no job of the queue can be claimed.

    Lines that are served first come in their order, but leave the others a share. Those share this process's time.
    """
    for environment in [environment for environment, must in list(_left_out.items()) if not must()]:
        _left_out.pop(environment, None)
    service = SERVICES.get(queue, QueueService())
    rota = _rotas.setdefault(queue, Rota(service.first, service.shared, service.last))
    for one in rota.order():
        perform = None
        # Before the claim: work whose code cannot be loaded stays in line, and the other lines are served.
        with apart(f"The code of {one.perform}"):
            perform = one.action()
        if perform is None:
            continue
        job = _claim_of(queue, one, worker)
        if job is not None:
            rota.serve(one)
            return Claim(job, perform, one)
    rota.rest()
    return None


def charge(queue: str, claim: Claim, seconds: float) -> None:
    """Count the time that a claimed job took against its line. seconds: of wall time."""
    if queue in _rotas:
        _rotas[queue].charge(claim.line, seconds)


def leave_out(environment: int, *, while_true: Callable[[], bool]) -> None:
    """Claim no more jobs of an environment in this process, while a function says so."""
    _left_out[environment] = while_true


def is_work_waiting(queue: str) -> bool:
    """Return whether a queue has a waiting job that a worker could claim now."""
    service = SERVICES.get(queue, QueueService())
    if any(waiting(one).exists() for one in (*service.first, *service.shared)):
        return True
    return any(waiting(one).exists() for one in service.last) and _is_room_for_last(queue)


def is_anything_waiting(queue: str) -> bool:
    """Return whether a job or a message waits in a queue, whether or not a worker may take it now. One light query."""
    rows = [*(waiting(one).order_by() for one in SERVICES.get(queue, QueueService()).lines), messages(queue)]
    parts = [row.values("pk")[:1].query.sql_with_params() for row in rows]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {' OR '.join(f'EXISTS ({sql})' for sql, _ in parts)}", [one for _, given in parts for one in given]
        )
        return bool(cursor.fetchone()[0])


def waiting(one: Line) -> QuerySet[Job]:
    """Return the jobs that wait in a line and that this process takes, in the order in which they are taken."""
    rows = of_line(line(one.kind), one.where)
    if not _left_out or not one.kind.ENVIRONMENT:
        return rows
    return rows.exclude(**{f"{one.kind.ENVIRONMENT}__in": list(_left_out)})


def _claim_of(queue: str, one: Line, worker: str) -> Job | None:
    """Claim the head of a line, where room is left for another worker in it."""
    if one not in SERVICES.get(queue, QueueService()).last:
        return claim_head(waiting(one), worker)
    if not waiting(one).exists():
        return None
    with transaction.atomic():
        # Two workers that count at the same time would both find room.
        name_lock(f"claims of the last lines of {queue}")
        return claim_head(waiting(one), worker) if _is_room_for_last(queue) else None


def _is_room_for_last(queue: str) -> bool:
    """Return whether another worker of a queue may begin a job of the lines that are served last."""
    last = SERVICES[queue].last
    reserved = [name for name, other in SERVICES.items() if any(one in last for one in (*other.first, *other.shared))]
    if workers_alive().filter(queue__in=reserved, engine_error="").exists():
        return False
    running = (of_line(one.kind._base_manager.filter(state=JobState.RUNNING), one.where).count() for one in last)
    return sum(running) < max(1, workers_alive(queue).filter(engine_error="").count() - 1)


def claim_head(rows: QuerySet[Job], worker: str) -> Job | None:
    """Claim the first of some waiting jobs for a worker; None when others were quicker."""
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
