"""The tasks of boards, which organisers choose in versions, and what becomes of tasks that are not wanted any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from core.errors import Refused
from core.jobs.locks import name_lock
from core.models import Acceptance, Environment, Task, TaskSet, TaskSplit, User
from core.people.rights import may
from core.rollouts.permissions import ORGANISING, Viewer
from core.rollouts.selectors import of_task


def task_set_get(environment: Environment, number: int | None = None) -> TaskSet | None:
    """Return a version of the tasks of a board, the newest one without a number; None without such a version."""
    rows = environment.task_sets.order_by("-number")
    return (rows if number is None else rows.filter(number=number)).first()


def ranking_tasks(chosen: TaskSet | None) -> list[Task]:
    """Return the tasks of a board that rank agents; refused ones do not."""
    if chosen is None:
        return []
    return list(chosen.tasks.exclude(acceptance=Acceptance.REFUSED).select_related("file", "member").order_by("pk"))


def task_set_choose(*, environment: Environment, tasks: Sequence[Task], by: User) -> TaskSet:
    """Let a board rank agents by these revisions from now on; return the new version. Raises Refused.

    Of equal tasks the first one is taken. The same tasks again are no new version.
    """
    if not may(by, ORGANISING):
        raise Refused("Organisers choose the tasks of boards.", code="not_yours")
    if lost := [task for task in tasks if not _fits(task) or task.environment_id != environment.pk]:
        raise Refused(
            f"{lost[0].name} cannot rank agents: only accepted or untested tasks of the organisers that have something "
            "to judge by and are not archived can.",
            field="tasks",
            code="cannot_rank",
        )
    if not tasks:
        raise Refused("Choose at least one task.", field="tasks", code="no_tasks")
    with transaction.atomic():
        name_lock(f"tasks {environment.pk}")
        newest, wanted = task_set_get(environment), _distinct(tasks)
        if newest is not None and set(newest.tasks.values_list("pk", flat=True)) == {task.pk for task in wanted}:
            return newest
        return _create(environment, wanted, by)


def task_set_begin(*, environment: Environment, by: User) -> None:
    """Let a board without tasks begin with those of its first file: the ranking and hidden ones, or all without these.

    Call it in the transaction that has written them. Later files change no board.
    """
    if task_set_get(environment) is None:
        rows = environment.tasks.filter(is_current=True, file__by_organiser=True).select_related("file").order_by("pk")
        found = [task for task in rows if _fits(task)]
        chosen = [task for task in found if task.split != TaskSplit.PRACTICE] or found
        if chosen:
            _create(environment, _distinct(chosen), by)


def tasks_that_may_rank(environment: Environment) -> list[Task]:
    """Return the tasks among which organisers choose: those that may rank, and those that rank now, by key."""
    current = environment.tasks.filter(is_current=True, file__by_organiser=True).select_related("file")
    found = {task.pk: task for task in (*ranking_tasks(task_set_get(environment)), *current) if _fits(task)}
    return sorted(found.values(), key=lambda task: (task.key, task.revision))


def may_drop(task: Task, viewer: Viewer) -> bool:
    """Return whether a person may archive or delete a task: members their own, organisers all."""
    return may(viewer, ORGANISING) or (viewer.pk is not None and task.member_id == viewer.pk)


def task_archive(*, task: Task, by: User, is_archived: bool = True) -> None:
    """Take a task out of the lists, so that no rollout of it is started; its results stay. Raises Refused.

    is_archived: False brings it back.
    """
    with _dropping(task, by) as revisions:
        newest = task_set_get(task.environment)
        if is_archived and newest is not None and newest.tasks.filter(of_task(task)).exists():
            raise Refused(f"{task.name} is on the board. Choose the board's tasks without it first.", code="on_board")
        revisions.update(archived_at=timezone.now() if is_archived else None)


def task_delete(*, task: Task, by: User) -> None:
    """Delete all revisions of a task that has no rollouts and was on no board. Raises Refused."""
    with _dropping(task, by) as revisions:
        if revisions.filter(Q(rollouts__isnull=False) | Q(task_sets__isnull=False)).exists():
            raise Refused(f"{task.name} has rollouts or was on a board. Archive it instead.", code="has_results")
        revisions.delete()


@contextmanager
def _dropping(task: Task, by: User) -> Iterator[QuerySet[Task]]:
    """Yield all revisions of a task while no file is written. Raises Refused for what is not the person's."""
    if not may_drop(task, by):
        raise Refused("Only organisers and the member who wrote a task may archive or delete it.", code="not_yours")
    with transaction.atomic():
        name_lock(f"tasks {task.environment_id}")
        yield Task.objects.filter(of_task(task))


def _fits(task: Task) -> bool:
    return (
        task.is_judged and task.file.by_organiser and task.archived_at is None and task.acceptance != Acceptance.REFUSED
    )


def _distinct(tasks: Iterable[Task]) -> list[Task]:
    """Return the tasks without those that are equal to an earlier one."""
    found: dict[str, Task] = {}
    for task in tasks:
        found.setdefault(task.fingerprint, task)
    return list(found.values())


def _create(environment: Environment, tasks: Sequence[Task], by: User) -> TaskSet:
    newest = task_set_get(environment)
    made = TaskSet.objects.create(environment=environment, number=newest.number + 1 if newest else 1, chosen_by=by)
    made.tasks.set(tasks)
    return made
