"""Tasks, batches and rollouts for pages and the API, each as far as a viewer may see it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from arena_kit.rollout.numbers.summary import Often
from core.courses.sight import listed, seen
from core.jobs.states import OPEN
from core.models import (
    Batch,
    BatchPurpose,
    Environment,
    EnvironmentKind,
    JobState,
    Rollout,
    RolloutOutcome,
    RolloutVerdict,
    Task,
)
from core.people.rights import may
from core.rollouts.figures import COUNTED, SOLVED
from core.rollouts.permissions import ANSWERS, Viewer, answers_seen, outcome_visible, rollouts_visible, tasks_visible

ANSWER_SEEN = Q(sees_answer=True)
"""The condition of tasks, as `tasks_current` returns them, whose answers the viewer sees."""
LONG = ("log", "live", "task__definition", "batch__agent_config", "package__manifest")


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """The filter of a list of tasks; empty keys are not looked at. query: words of instruction or key."""

    query: str = ""
    tag: str = ""
    difficulty: str = ""
    split: str = ""
    often: str = ""
    acceptance: str = ""
    duplicates: bool = False
    archived: bool = False


def application_list(viewer: Viewer) -> list[Environment]:
    """Return the applications of this arena, by name."""
    return list(listed(Environment.objects.filter(kind=EnvironmentKind.APP), viewer).order_by("name"))


def application_get(slug: str) -> Environment:
    """Return an application. Raises Environment.DoesNotExist."""
    return Environment.objects.get(slug=slug, kind=EnvironmentKind.APP)


def tasks_current(
    viewer: Viewer, environment: Environment | None = None, *, archived: bool | None = False
) -> QuerySet[Task]:
    """Return the current tasks that a viewer sees, by application and key, with counts of their rollouts.

    `rollout_count`, `attempt_count`, `solved_count` and `batch_count` leave out the arena's own trials.
    `sees_answer`: whether the viewer sees the answer, too. archived: True for archived ones only, None for all.
    """
    rows = Task.objects.filter(is_current=True).select_related("environment", "file__uploaded_by", "member")
    if environment is not None:
        rows = rows.filter(environment=environment)
    if archived is not None:
        rows = rows.filter(archived_at__isnull=not archived)
    asked = ~Q(rollouts__batch__purpose=BatchPurpose.ACCEPTANCE) & Q(rollouts__hidden_at=None)
    counted = Q(rollouts__outcome__in=[RolloutOutcome.SOLVED, RolloutOutcome.PARTIAL, RolloutOutcome.NOT_SOLVED])
    solved = Q(rollouts__outcome=RolloutOutcome.SOLVED)
    return (
        tasks_visible(rows, viewer)
        .annotate(
            sees_answer=ExpressionWrapper(answers_seen(viewer), output_field=BooleanField()),
            rollout_count=Count("rollouts", filter=asked),
            attempt_count=Count("rollouts", filter=asked & counted),
            solved_count=Count("rollouts", filter=asked & solved),
            over_count=Count("rollouts", filter=asked & ~Q(rollouts__state__in=OPEN)),
            batch_count=Count("rollouts__batch", filter=asked, distinct=True),
        )
        .order_by("environment__slug", "key")
    )


def tasks_filtered(rows: QuerySet[Task], wanted: TaskFilter) -> QuerySet[Task]:
    """Narrow a list of tasks that `tasks_current` has returned.

    Duplicates are those among all tasks of that list.
    """
    seen = rows
    for word in wanted.query.split():
        rows = rows.filter(Q(instruction__icontains=word) | Q(key__icontains=word))
    if wanted.tag:
        rows = rows.filter(tag_line__contains=f",{wanted.tag},")
    for name in ("difficulty", "split", "acceptance"):
        if value := getattr(wanted, name):
            rows = rows.filter(**{name: value})
    mine = Rollout.objects.filter(COUNTED, task=OuterRef("pk"), hidden_at=None).exclude(
        batch__purpose=BatchPurpose.ACCEPTANCE
    )
    match wanted.often:
        case Often.ALWAYS:
            rows = rows.filter(Exists(mine)).exclude(Exists(mine.exclude(SOLVED)))
        case Often.SOMETIMES:
            rows = rows.filter(Exists(mine.filter(SOLVED)), Exists(mine.exclude(SOLVED)))
        case Often.NEVER:
            rows = rows.filter(Exists(mine)).exclude(Exists(mine.filter(SOLVED)))
    return rows.filter(_repeated(seen)) if wanted.duplicates else rows


def _repeated(seen: QuerySet[Task]) -> Q:
    """Return the condition of listed tasks that are equal to another listed one.

    Tasks of two people are compared only where the viewer sees both answers: otherwise a task with a guessed answer
    would show that of another person's task.
    """
    # Without the joins of the counts, which would count a task once for each of its rollouts.
    twins = Task.objects.filter(environment=OuterRef("environment"), fingerprint=OuterRef("fingerprint"))
    twins = twins.exclude(pk=OuterRef("pk")).order_by()
    own = twins.filter(pk__in=seen.order_by().values("pk"), file__uploaded_by=OuterRef("file__uploaded_by"))
    read = twins.filter(pk__in=seen.filter(ANSWER_SEEN).order_by().values("pk"))
    return Q(Exists(own)) | ANSWER_SEEN & Q(Exists(read))


def tags_of(environment: Environment, viewer: Viewer) -> list[str]:
    """Return the tags of the current tasks that a viewer sees, sorted."""
    rows = tasks_visible(environment.tasks.filter(is_current=True), viewer)
    lines = rows.exclude(tag_line="").values_list("tag_line", flat=True)
    return sorted({tag for line in lines for tag in line.split(",") if tag})


def tasks_named(viewer: Viewer, names: Collection[str], environment: Environment | None = None) -> dict[str, Task]:
    """Return the current task that each name means to a viewer; a name that means none is left out.

    A name is a whole one, KEY@USERNAME, or a key alone, which means one's own task, else that of the organisers, else
    the oldest one.
    """
    rows = tasks_current(viewer, environment, archived=None).filter(key__in={name.partition("@")[0] for name in names})
    is_own = {row.pk: viewer.pk is not None and row.member_id == viewer.pk for row in rows}
    meant: dict[str, Task] = {}
    for row in sorted(rows, key=lambda row: (not is_own[row.pk], row.member_id is not None, row.pk)):
        meant.setdefault(row.key, row)
        meant.setdefault(row.name, row)
    return {name: meant[name] for name in names if name in meant}


def task_get(viewer: Viewer, name: str, environment: Environment | None = None) -> Task:
    """Return the task that a name means, as `tasks_named`. Raises Task.DoesNotExist."""
    found = tasks_named(viewer, [name], environment).get(name)
    if found is None:
        raise Task.DoesNotExist
    return found


def of_name(viewer: Viewer, name: str) -> Q:
    """Return the condition of rollouts at the task that a name means, in whichever application there is one."""
    condition = Q(pk__in=[])
    for environment in application_list(viewer):
        for task in tasks_named(viewer, [name], environment).values():
            condition |= of_task(task, "task__")
    return condition


def of_task(task: Task, prefix: str = "") -> Q:
    """Return the condition of all revisions of a task. prefix: of a relation to them, such as `task__`."""
    own = {"environment": task.environment_id, "member": task.member_id, "key": task.key}
    return Q(**{f"{prefix}{name}": value for name, value in own.items()})


def revisions_of(task: Task) -> list[Task]:
    """Return all revisions of a task, the newest first. `work_sha256` says which are comparable."""
    return list(Task.objects.filter(of_task(task)).select_related("file__uploaded_by").order_by("-revision"))


def rollout_rows(viewer: Viewer) -> QuerySet[Rollout]:
    """Return the rollouts whose outcome a viewer sees, newest first, without long columns."""
    related = (
        "task__file",
        "task__member",
        "environment",
        "batch__owner",
        "batch__model",
        "submission__agent__owner",
        "package",
    )
    rows = Rollout.objects.select_related(*related).defer(*LONG)
    return rollouts_visible(rows, viewer).order_by("-pk")


def rollout_get(viewer: Viewer, public_id: UUID) -> Rollout:
    """Return a rollout that a viewer sees, with its long columns. Raises Rollout.DoesNotExist."""
    found = Rollout.objects.select_related(*Rollout.RELATED, "task__file", "task__environment", "task__member")
    return rollouts_visible(found, viewer).get(public_id=public_id)


def batch_rows(viewer: Viewer, *, task: Task | None = None) -> QuerySet[Batch]:
    """Return the batches that a viewer sees, newest first, with counts of the rollouts in them that the viewer sees.

    task: only batches with rollouts at it, of whichever revision; the counts are of these rollouts.
    """
    rows = seen(Batch.objects.filter(hidden_at=None), viewer).select_related(
        "owner", "environment", "model", "submission__agent__owner", "package"
    )
    if not may(viewer, ANSWERS):
        rows = rows.exclude(~Q(owner=viewer.pk), purpose=BatchPurpose.ACCEPTANCE)
        # A batch at hidden tasks alone has nothing in it that others may see.
        rows = rows.filter(Q(owner=viewer.pk) | Exists(rollout_rows(viewer).filter(batch=OuterRef("pk"))))
    # A figure that counted the others would tell about hidden tasks, and of rollouts that were deleted.
    shown = outcome_visible(viewer, "rollouts__")
    if task is not None:
        at_task = rollout_rows(viewer).filter(of_task(task, "task__"))
        rows = rows.filter(pk__in=at_task.order_by().values("batch"))
        shown &= of_task(task, "rollouts__task__")
    counted = Q(rollouts__outcome__in=[RolloutOutcome.SOLVED, RolloutOutcome.PARTIAL, RolloutOutcome.NOT_SOLVED])
    return rows.annotate(
        rollout_count=Count("rollouts", filter=shown),
        over_count=Count("rollouts", filter=shown & ~Q(rollouts__state__in=OPEN)),
        running_count=Count("rollouts", filter=shown & Q(rollouts__state=JobState.RUNNING)),
        judged_count=Count("rollouts", filter=shown & Q(rollouts__state=JobState.SUCCEEDED)),
        solved_count=Count("rollouts", filter=shown & Q(rollouts__outcome=RolloutOutcome.SOLVED)),
        attempt_count=Count("rollouts", filter=shown & counted),
    ).order_by("-pk")


def batch_get(viewer: Viewer, public_id: UUID) -> Batch:
    """Return a batch that a viewer sees. Raises Batch.DoesNotExist."""
    return batch_rows(viewer).get(public_id=public_id)


def batch_rollouts(batch: Batch, viewer: Viewer) -> QuerySet[Rollout]:
    """Return the rollouts of a batch whose outcome a viewer sees."""
    return rollouts_visible(batch.rollouts.all(), viewer)


def batch_phases(batch: Batch, viewer: Viewer) -> dict[str, int]:
    """Return how many rollouts of a batch are at work, by phase."""
    rows = batch_rollouts(batch, viewer).filter(state=JobState.RUNNING).order_by().values_list("phase")
    return dict(sorted(rows.annotate(count=Count("pk"))))


def batch_matrix(batch: Batch, viewer: Viewer) -> list[tuple[Task, list[Rollout]]]:
    """Return the tasks of a batch with its attempts at each, in order."""
    rows = (
        batch_rollouts(batch, viewer)
        .select_related("task__file", "task__member", "batch", "submission__agent")
        .defer(*LONG[:3])
    )
    matrix: dict[int, tuple[Task, list[Rollout]]] = {}
    for rollout in rows.order_by("task__key", "attempt_number"):
        matrix.setdefault(rollout.task_id, (rollout.task, []))[1].append(rollout)
    return list(matrix.values())


def verdicts_of(rollout: Rollout) -> list[RolloutVerdict]:
    """Return the verdicts about a rollout, the first one first."""
    return list(rollout.verdicts.select_related("task", "made_by").order_by("pk"))


def checks_shown(verdict: RolloutVerdict, *, with_expected: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return checks and guards of a verdict; what was expected, and what tells it, only for those who may see it."""
    hidden = () if with_expected else ("expected", "sentence", "actual", "normalised")

    def shown(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: value for name, value in each.items() if name not in hidden} for each in found]

    return shown(verdict.checks), shown(verdict.guards)
