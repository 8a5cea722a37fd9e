"""Tasks: written from files, in revisions that never change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from django.db import transaction

from arena_kit.rollout.tasks.file import Skipped, TasksRefused, tasks_read
from arena_kit.rollout.tasks.file import TaskFile as FileRead
from arena_kit.rollout.tasks.revisions import KnownTask, RevisionPlan, near_duplicates, upload_plan
from arena_kit.rollout.tasks.task import Task as TaskRead
from arena_kit.rollout.values.strict_json import Flaw, NotJson
from core.errors import Refused
from core.jobs.locks import name_lock
from core.models import Environment, Package, Task, TaskFile, TaskSplit, User
from core.people.audit_log import Operator, audit_record
from core.people.rights import may
from core.rollouts.acceptance import acceptance_begin
from core.rollouts.permissions import ORGANISING, answers_visible, check_may_ask, task_visible
from core.rollouts.reading import newest_package, rules_of
from core.rollouts.sets import task_set_begin

MOST_NEAR_LOOKED_AT = 2_000
"""Tasks of a file among which those that are nearly the same are looked for: 5,000 would take two seconds."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The changes of an upload of tasks, as they are answered and kept."""

    file: TaskFile
    written: tuple[Task, ...]


def tasks_upload(
    *,
    owner: User,
    environment: Environment,
    data: bytes,
    allow_duplicates: bool = False,
    operator: Operator | None = None,
) -> Uploaded:
    """Read a `tasks.json` and write what is new in it; wrong tasks are skipped with reasons. Raises Refused.

    Members revise their own tasks, organisers those of the organisers. The tasks of organisers are tested at once,
    those of members on request. operator: who sends it; organisers' tasks rank agents, so the audit log has them.
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
        if operator is not None and uploaded.file.by_organiser:
            audit_record(operator=operator, action="upload_tasks", row=uploaded.file)
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
    is_organiser = package is not None or may(owner, ORGANISING)
    namespace = None if is_organiser else owner.pk
    found = found if is_organiser else _without_ranking(found)
    rows = list(environment.tasks.filter(is_current=True).select_related("file").order_by("pk"))
    # Organisers revise and repeat no member's task: a member who guesses an id would take it from them.
    ours = [row for row in rows if row.member_id == namespace]
    # An upload is compared with nothing but what its sender may read: any other answer could be found by guesses.
    current = {row.key: row for row in ours if answers_visible(row, owner)}
    theirs = [row for row in rows if row.member_id is None and task_visible(row, owner)]
    seen = ours if is_organiser else [*ours, *theirs]
    foreign = {row.key for row in seen} - set(current)
    sent = [replace(task, environment=environment.slug) for task in found.tasks]
    allowed = [task for task in sent if task.key not in foreign]
    known = {row.key: KnownTask(row.key, row.revision, row.content_sha256, row.fingerprint) for row in current.values()}
    plan = upload_plan(allowed, known, allow_duplicates=allow_duplicates)
    file = TaskFile.objects.create(
        environment=environment,
        package=package,
        uploaded_by=owner,
        by_organiser=is_organiser,
        sha256=sha256,
        report={**_report(plan, found), "foreign": sorted(task.key for task in sent if task not in allowed)},
    )
    written = [_row(file, namespace, task, 1) for task in plan.created]
    written += [_row(file, namespace, task, number) for task, number in plan.revised]
    # The old ones first: a constraint allows only one current revision.
    environment.tasks.filter(pk__in=[current[task.key].pk for task, _ in plan.revised]).update(is_current=False)
    made = tuple(Task.objects.bulk_create(written))
    if is_organiser:
        task_set_begin(environment=environment, by=owner)
    return Uploaded(file, made)


def _read(environment: Environment, data: bytes) -> FileRead:
    try:
        return tasks_read(data, rules_of(environment))
    except (NotJson, TasksRefused) as refusal:
        raise Refused(str(refusal), field="file", code=refusal.code) from None


def _without_ranking(found: FileRead) -> FileRead:
    """Return a member's file without the tasks that ask to be on the board, which are skipped with the reason."""
    flaw = Flaw("not_yours", "split", "Only organisers put tasks on the board; write PRACTICE or HIDDEN.")
    gone = {each.index for each in found.skipped}
    places = (place for place in count() if place not in gone)
    ranking = [(place, task) for place, task in zip(places, found.tasks, strict=False) if _is_ranking(task)]
    skipped = [Skipped(place, task.key, (flaw,)) for place, task in ranking]
    kept = tuple(task for task in found.tasks if not _is_ranking(task))
    return replace(found, tasks=kept, skipped=(*found.skipped, *skipped))


def _is_ranking(task: TaskRead) -> bool:
    return task.split.value == TaskSplit.RANKING


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


def _row(file: TaskFile, member: int | None, task: TaskRead, revision: int) -> Task:
    return Task(
        environment=file.environment,
        key=task.key,
        member_id=member,
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
