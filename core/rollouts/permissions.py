"""Who may see and do what with packages, tasks, answers and rollouts.

Organisers see everything. The author of a task sees all of it. Everyone sees practice tasks and what agents did at
them. Of ranking tasks everyone sees the instruction and the outcomes; how an agent went about it is for its owner,
because a recorded solution could be copied. A ranking task's own solution, hidden tasks, and what agents did at these,
are for organisers and authors.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from core.courses.sight import seen
from core.errors import Refused
from core.models import (
    Batch,
    BatchPurpose,
    LanguageModel,
    ModelUsers,
    Package,
    Rollout,
    RolloutAgent,
    Task,
    TaskSplit,
    User,
)
from core.people.rights import may

Viewer = User | AnonymousUser
ANSWERS, OTHERS = "core.view_task", "core.change_batch"
"""The rights to see all of every task, and to act on what other people have asked for."""
ORGANISING = "core.change_task"
"""The right to write and revise the tasks of the organisers, and to choose those of boards."""
STAFF, MEMBERS = "staff", "members"
ROLLOUTS_OFF = "This arena runs no rollouts; ROLLOUTS turns them on."


def may_ask(viewer: Viewer) -> bool:
    """Return whether a person may ask for rollouts and upload tasks here."""
    if not viewer.is_authenticated or not viewer.is_active:
        return False
    return settings.ROLLOUTS == MEMBERS or (settings.ROLLOUTS == STAFF and may(viewer, "core.add_batch"))


def check_may_ask(viewer: Viewer) -> None:
    """Raise Refused unless a person may ask for rollouts here."""
    if settings.ROLLOUTS == "false":
        raise Refused(ROLLOUTS_OFF, code="rollouts_off")
    if not may_ask(viewer):
        who = "organisers" if settings.ROLLOUTS == STAFF else "people with an account"
        raise Refused(f"Rollouts here are for {who}.", code="rollouts_not_yours")


def may_upload_packages(viewer: Viewer) -> bool:
    """Return whether a person may upload packages: organisers, because a package runs programs of its own."""
    return settings.ROLLOUTS != "false" and may(viewer, "core.add_package")


def is_author(task: Task, viewer: Viewer) -> bool:
    """Return whether a person uploaded this revision of a task. task: read with its file."""
    return viewer.pk is not None and task.file.uploaded_by_id == viewer.pk


def answers_visible(task: Task, viewer: Viewer) -> bool:
    """Return whether a person sees the answer, the checks and the oracle of a task."""
    return is_author(task, viewer) or may(viewer, ANSWERS)


def task_visible(task: Task, viewer: Viewer) -> bool:
    """Return whether a person sees that a task exists, and its instruction."""
    return task.split != TaskSplit.HIDDEN or answers_visible(task, viewer)


def answers_seen(viewer: Viewer) -> Q:
    """Return the condition of tasks whose answers a person sees, as `answers_visible`."""
    return ~Q(pk__in=[]) if may(viewer, ANSWERS) else Q(file__uploaded_by=viewer.pk) if viewer.pk else Q(pk__in=[])


def tasks_visible(rows: QuerySet[Task], viewer: Viewer) -> QuerySet[Task]:
    """Return the tasks among some that a person sees."""
    return seen(rows.filter(~Q(split=TaskSplit.HIDDEN) | answers_seen(viewer)), viewer)


def rollouts_visible(rows: QuerySet[Rollout], viewer: Viewer) -> QuerySet[Rollout]:
    """Return the rollouts among some whose outcome a person sees.

    Every list, page, export and stream asks here. Trials of tasks are for organisers and authors; rollouts that their
    owners have deleted are for no one.
    """
    return seen(rows.filter(outcome_visible(viewer)), viewer)


def outcome_visible(viewer: Viewer, prefix: str = "") -> Q:
    """Return the condition of rollouts whose outcome a person sees. prefix: of their relation, such as `rollouts__`."""
    kept = Q(**{f"{prefix}hidden_at": None})
    if may(viewer, ANSWERS):
        return kept
    splits = [split for split in TaskSplit if split != TaskSplit.HIDDEN]
    purposes = [purpose for purpose in BatchPurpose if purpose != BatchPurpose.ACCEPTANCE]
    # Lists instead of negations, which would be subqueries behind a relation.
    open_ones = Q(**{f"{prefix}task__split__in": splits, f"{prefix}batch__purpose__in": purposes})
    own = Q(**{f"{prefix}task__file__uploaded_by": viewer.pk}) if viewer.pk else Q(pk__in=[])
    return kept & (open_ones | own)


def work_visible(rollout: Rollout, viewer: Viewer) -> bool:
    """Return whether a person sees what an agent did: steps, pictures, video, network log, its answer.

    rollout: one whose outcome the person sees, from `rollouts_visible`.
    """
    if answers_visible(rollout.task, viewer) or rollout.task.split == TaskSplit.PRACTICE:
        return True
    if rollout.batch.agent_kind == RolloutAgent.SCRIPTED:
        return False
    is_own = viewer.pk is not None and (
        rollout.batch.owner_id == viewer.pk
        or (rollout.submission is not None and rollout.submission.agent.owner_id == viewer.pk)
    )
    return rollout.task.split == TaskSplit.RANKING and is_own


def work_hidden_because(rollout: Rollout) -> str:
    """Return why `work_visible` says no."""
    if rollout.batch.agent_kind == RolloutAgent.SCRIPTED:
        return "The solution of a ranking task is for its author and for organisers, because it could be copied."
    return "What the agent did is for its owner and for organisers, because a recorded solution could be copied."


def expected_visible(rollout: Rollout, viewer: Viewer) -> bool:
    """Return whether a person sees what checks expected, the exported state, and logs of services and the gateway."""
    return answers_visible(rollout.task, viewer)


def may_change_batch(batch: Batch, viewer: Viewer) -> bool:
    """Return whether a person may cancel or hide a batch and its rollouts."""
    return (viewer.pk is not None and batch.owner_id == viewer.pk) or may(viewer, OTHERS)


def archive_visible(package: Package, viewer: Viewer) -> bool:
    """Return whether a person may download a package, which holds its data, passwords and answers."""
    return package.is_public or package.uploaded_by_id == viewer.pk or may(viewer, "core.view_package")


def models_for(viewer: Viewer) -> QuerySet[LanguageModel]:
    """Return the language models that a person may choose."""
    rows = LanguageModel.objects.filter(is_active=True)
    if may(viewer, "core.view_languagemodel"):
        return rows
    return rows.filter(users=ModelUsers.MEMBERS) if may_ask(viewer) else rows.none()
