"""Tries tasks: the oracle of a task must solve it, and doing nothing must not. Both are rollouts of the arena's own."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet
from django.utils import timezone

from core.jobs.states import OPEN
from core.models import (
    Acceptance,
    Batch,
    BatchPurpose,
    JobFault,
    JobState,
    Package,
    Rollout,
    RolloutAgent,
    Task,
    User,
)
from core.rollouts.lining import rollouts_line_up

ORACLE_FAILED, NULL_PASSED = "oracle_failed", "null_passed"


def acceptance_begin(*, package: Package, again: bool = False) -> list[Batch]:
    """Try the current tasks of a package's application that have not been tried; return the batches.

    again: also those that were tried before, e.g. with an earlier package.
    """
    tasks = package.environment.tasks.filter(is_current=True, is_judged=True).select_related("file__uploaded_by")
    if not again:
        tasks = tasks.filter(acceptance=Acceptance.UNTRIED)
    busy = Rollout.objects.filter(batch__purpose=BatchPurpose.ACCEPTANCE, batch__package=package, state__in=OPEN)
    tasks = tasks.exclude(pk__in=busy.values("task"))
    if not again:
        tried = Rollout.objects.filter(batch__purpose=BatchPurpose.ACCEPTANCE, batch__package=package)
        tasks = tasks.exclude(pk__in=tried.filter(state=JobState.SUCCEEDED).values("task"))
    wanted = list(tasks.order_by("pk"))
    owners = {task.file.uploaded_by for task in wanted}
    return [
        batch
        for owner in sorted(owners, key=lambda user: user.pk)
        for batch in _try(owner, package, [task for task in wanted if task.file.uploaded_by_id == owner.pk])
    ]


def acceptance_decide(*, rollout: Rollout) -> None:
    """Write down what the trials of a task say so far; call it in the transaction in which one of them ends."""
    trials = _trials(rollout.task, rollout.package)
    oracle, null = (
        trials.filter(batch__agent_kind=RolloutAgent.SCRIPTED),
        trials.filter(batch__agent_kind=RolloutAgent.NULL),
    )
    played, idle = oracle.last(), null.last()
    code, sentence = "", ""
    if idle is not None and idle.is_solved:
        code = NULL_PASSED
        sentence = "Doing nothing solves it; add a check that only the work itself meets."
    elif played is not None and not played.is_solved:
        code, sentence = ORACLE_FAILED, f"Its oracle fails: {played.verdict_sentence or played.error}"
    elif played is None or idle is None:
        return
    state = Acceptance.REFUSED if code else Acceptance.ACCEPTED
    Task.objects.filter(pk=rollout.task_id).update(
        acceptance=state, acceptance_code=code, acceptance_sentence=sentence, verified_at=timezone.now()
    )


def _trials(task: Task, package: Package) -> QuerySet[Rollout]:
    """Return the trials of a task that say something about it."""
    rows = Rollout.objects.filter(task=task, package=package, batch__purpose=BatchPurpose.ACCEPTANCE)
    return rows.exclude(state__in=(*OPEN, JobState.CANCELLED)).exclude(fault=JobFault.PLATFORM).order_by("pk")


def _try(owner: User, package: Package, tasks: Sequence[Task]) -> list[Batch]:
    kinds = {
        RolloutAgent.SCRIPTED: [task for task in tasks if task.has_oracle],
        RolloutAgent.NULL: list(tasks),
    }
    return [_batch(owner, package, kind, chosen) for kind, chosen in kinds.items() if chosen]


def _batch(owner: User, package: Package, kind: RolloutAgent, tasks: Sequence[Task]) -> Batch:
    batch = Batch.objects.create(
        owner=owner,
        environment=package.environment,
        package=package,
        purpose=BatchPurpose.ACCEPTANCE,
        agent_kind=kind,
        attempts=1,
        note="The arena tries the tasks.",
    )
    rollouts_line_up(batch=batch, tasks=tasks, attempts=1)
    return batch
