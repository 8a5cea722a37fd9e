"""Puts the rollouts of a batch in line: the first attempt at every task before the second at any."""

from __future__ import annotations

from collections.abc import Sequence

from core.jobs.lifecycle import job_ring
from core.jobs.turns import rollouts_turn
from core.models import Batch, BatchPurpose, Rollout, Task

MOST_ROLLOUTS = 2_000
"""How many rollouts a person may ask for at once."""


def rollouts_line_up(
    *, batch: Batch, tasks: Sequence[Task], attempts: int, priority: int = 0, is_last: bool = False
) -> list[Rollout]:
    """Create the rollouts of a new batch with a fixed number of queries. Call it in a transaction.

    is_last: behind all other rollouts that wait.
    """
    rows = [
        Rollout(
            batch=batch,
            environment=batch.environment,
            task=task,
            package=batch.package,
            submission=batch.submission,
            is_ranked=batch.purpose == BatchPurpose.RANKING,
            attempt_number=number,
            seed=task.seed if batch.package.manifest["seeds"] else 0,
            priority=priority,
        )
        for number in range(1, attempts + 1)
        for task in tasks
    ]
    rollouts_turn(owner=batch.owner, environment=batch.environment, rollouts=rows, is_last=is_last)
    made = Rollout.objects.bulk_create(rows)
    if made:
        job_ring(job=made[0])
    return made
