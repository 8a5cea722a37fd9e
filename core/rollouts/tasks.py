"""Tasks: written from files, in revisions that never change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from arena_kit.rollout.tasks.file import TaskFile as FileRead
from arena_kit.rollout.tasks.file import TasksRefused, tasks_read
from arena_kit.rollout.tasks.revisions import KnownTask, RevisionPlan, near_duplicates, upload_plan
from arena_kit.rollout.tasks.task import Task as TaskRead
from arena_kit.rollout.values.strict_json import NotJson
from core.errors import Refused
from core.jobs.locks import name_lock
from core.models import Environment, Package, Task, TaskFile, TaskSplit, User
from core.rollouts.acceptance import acceptance_begin
from core.rollouts.permissions import check_may_ask
from core.rollouts.reading import newest_package, rules_of

MOST_NEAR_LOOKED_AT = 2_000
"""Tasks of a file among which those that are nearly the same are looked for: 5,000 would take two seconds."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What an upload of tasks has changed, as it is answered and kept."""

    file: TaskFile
    written: tuple[Task, ...]


def tasks_upload(*, owner: User, environment: Environment, data: bytes, allow_duplicates: bool = False) -> Uploaded:
    """Read a `tasks.json` and write what is new in it; wrong tasks are skipped with reasons. Raises Refused.

    Only organisers and those who uploaded a task before may revise it.
    """
    check_may_ask(owner)
    if not environment.is_app:
        raise Refused(f"{environment} is not an application, so it has no tasks.", code="no_application")
    found = _read(environment, data)
    with transaction.atomic():
        name_lock(f"tasks {environment.pk}")
        uploaded = tasks_write(
            owner=owner,
            environment=environment,
            found=found,
            sha256=hashlib.sha256(data).hexdigest(),
            package=None,
            allow_duplicates=allow_duplicates,
        )
        package = newest_package(environment)
        if uploaded.written and package is not None:
            acceptance_begin(package=package)
    return uploaded


def tasks_write(
    *,
    owner: User,
    environment: Environment,
    found: FileRead,
    sha256: str,
    package: Package | None,
    allow_duplicates: bool,
) -> Uploaded:
    """Write the tasks of a file; call it in a transaction that holds the lock of the application's tasks."""
    current = {row.key: row for row in environment.tasks.filter(is_current=True).select_related("file").order_by("pk")}
    foreign = _foreign(owner, current)
    mine = [replace(task, environment=environment.slug) for task in found.tasks]
    allowed = [task for task in mine if task.key not in foreign or _is_same(task, current[task.key])]
    known = {row.key: KnownTask(row.key, row.revision, row.content_sha256, row.fingerprint) for row in current.values()}
    plan = upload_plan(allowed, known, allow_duplicates=allow_duplicates)
    file = TaskFile.objects.create(
        environment=environment,
        package=package,
        uploaded_by=owner,
        sha256=sha256,
        report={**_report(plan, found), "foreign": sorted(task.key for task in mine if task not in allowed)},
    )
    rows = [_row(environment, file, task, 1) for task in plan.created]
    rows += [_row(environment, file, task, number) for task, number in plan.revised]
    # The old ones first: a constraint allows only one current revision.
    environment.tasks.filter(key__in=[task.key for task, _ in plan.revised], is_current=True).update(is_current=False)
    return Uploaded(file, tuple(Task.objects.bulk_create(rows)))


def _read(environment: Environment, data: bytes) -> FileRead:
    try:
        return tasks_read(data, rules_of(environment))
    except (NotJson, TasksRefused) as refusal:
        raise Refused(str(refusal), field="file", code=refusal.code) from None


def _foreign(owner: User, current: dict[str, Task]) -> set[str]:
    """Return the keys of tasks that this person may not revise."""
    if owner.is_staff:
        return set()
    return {key for key, row in current.items() if row.file.uploaded_by_id != owner.pk}


def _is_same(task: TaskRead, row: Task) -> bool:
    return task.content_sha256 == row.content_sha256


def _report(plan: RevisionPlan, found: FileRead) -> dict[str, Any]:
    equal = {each.key for each in plan.duplicates}
    others = [task for task in found.tasks if task.key not in equal]
    return {
        "count": plan.count,
        "created": _keys(plan.created),
        "revised": [{"id": task.key, "revision": number} for task, number in plan.revised],
        "unchanged": _keys(plan.unchanged),
        "duplicates": [{"id": each.key, "same_as": each.same_as} for each in plan.duplicates],
        "similar": [list(pair) for pair in near_duplicates(others[:MOST_NEAR_LOOKED_AT])],
        "skipped": [each.as_json() for each in found.skipped],
    }


def _keys(tasks: Iterable[TaskRead]) -> list[str]:
    return [task.key for task in tasks]


def _row(environment: Environment, file: TaskFile, task: TaskRead, revision: int) -> Task:
    return Task(
        environment=environment,
        key=task.key,
        revision=revision,
        file=file,
        instruction=task.instruction,
        definition=dict(task.definition),
        content_sha256=task.content_sha256,
        work_sha256=task.work_sha256,
        fingerprint=task.fingerprint,
        is_judged=task.is_judged,
        has_oracle=bool(task.oracle),
        seed=task.seed,
        split=TaskSplit(task.split.value),
        difficulty=task.difficulty.value if task.difficulty else "",
        tag_line=f",{','.join(task.tags)}," if task.tags else "",
    )
