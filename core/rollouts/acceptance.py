"""Tries tasks: the oracle of a task must solve it, and doing nothing must not.

Both are rollouts of the arena's own, which are made when no other rollout waits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from core.errors import Refused
from core.jobs.states import OPEN
from core.models import (
    Acceptance,
    Batch,
    BatchPurpose,
    Environment,
    JobFault,
    JobState,
    Package,
    Rollout,
    RolloutAgent,
    Task,
    User,
)
from core.people.quotas import owner_lock
from core.rollouts.lining import MOST_ROLLOUTS, rollouts_line_up
from core.rollouts.permissions import Viewer, answers_seen, check_may_ask
from core.rollouts.quotas import rollout_quota_check
from core.rollouts.reading import newest_package
from core.rollouts.selectors import tasks_named

ORACLE_FAILED, NULL_PASSED = "oracle_failed", "null_passed"


def acceptance_begin(*, package: Package, again: bool = False) -> list[Batch]:
    """Try the organisers' current tasks of a package's application that have not been tried; return the batches.

    again: also those that were tried before, e.g. with an earlier package.
    """
    tasks = _testable(package).filter(file__by_organiser=True)
    if not again:
        tasks = tasks.filter(acceptance=Acceptance.UNTRIED)
        tried = Rollout.objects.filter(batch__purpose=BatchPurpose.ACCEPTANCE, batch__package=package)
        tasks = tasks.exclude(pk__in=tried.filter(state=JobState.SUCCEEDED).values("task"))
    wanted = list(tasks.order_by("pk"))
    owners = {task.file.uploaded_by for task in wanted}
    return [
        batch
        for owner in sorted(owners, key=lambda user: user.pk)
        for batch in _try(owner, package, [task for task in wanted if task.file.uploaded_by_id == owner.pk])
    ]


def acceptance_ask(*, by: User, environment: Environment, names: Collection[str] = ()) -> int:
    """Test members' tasks because a person asks for it; return how many. Raises Refused and QuotaExceeded.

    The rollouts are charged to that person, and are made when no other one waits. names: of tasks whose answers the
    person sees; without any, all of the person's own tasks that have not been tested.
    """
    check_may_ask(by)
    package = newest_package(environment)
    if package is None:
        raise Refused(f"No package of {environment} has been built yet.", code="no_package")
    meant = [task.pk for task in tasks_named(by, names, environment).values()]
    named = _testable(package).filter(answers_seen(by), file__by_organiser=False, pk__in=meant)
    rows = named if names else tasks_untested(by, environment)
    with transaction.atomic():
        locked = owner_lock(by)
        tasks = list(rows.order_by("pk"))
        count = len(tasks) + sum(task.has_oracle for task in tasks)
        if not tasks:
            raise Refused("There is no task of yours that can be tested now.", field="tasks", code="no_tasks")
        if count > MOST_ROLLOUTS:
            raise Refused(
                f"Testing {len(tasks):,} tasks takes {count:,} rollouts; at most {MOST_ROLLOUTS:,} can be asked for at "
                "once. Name some of the tasks.",
                field="tasks",
                code="too_many_rollouts",
            )
        rollout_quota_check(owner=locked, environment=environment, rollout_count=count)
        _try(locked, package, tasks)
    return len(tasks)


def tasks_untested(viewer: Viewer, environment: Environment) -> QuerySet[Task]:
    """Return a person's own tasks that can be tested and have not been."""
    package = newest_package(environment)
    if package is None or not viewer.pk:
        return Task.objects.none()
    rows = _testable(package).filter(file__by_organiser=False, file__uploaded_by=viewer.pk)
    return rows.filter(acceptance=Acceptance.UNTRIED)


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


def _testable(package: Package) -> QuerySet[Task]:
    """Return the current tasks of a package's application that can be judged and that are not being tested with it."""
    busy = Rollout.objects.filter(batch__purpose=BatchPurpose.ACCEPTANCE, batch__package=package, state__in=OPEN)
    rows = package.environment.tasks.filter(is_current=True, is_judged=True, archived_at=None).exclude(
        pk__in=busy.values("task")
    )
    return rows.select_related("file__uploaded_by")


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
    rollouts_line_up(batch=batch, tasks=tasks, attempts=1, is_last=True)
    return batch
