"""Verdicts that organisers ask for on pages: the row keeps the request until a worker has judged the rollout again."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction

from core.errors import Refused
from core.files.removed import REMOVED
from core.jobs.messages import task_request
from core.models import Rollout, Task, User, VerdictReason
from core.people.rights import may
from core.rollouts.selectors import of_task

JUDGE_TASK = "rollouts_judge"
JUDGING = "core.change_rollout"
"""The right to have rollouts judged again."""
NEEDED = ("record", "export", "har", "steps")
"""The files by which a rollout is judged, as far as it has them."""


def judging_ask(*, rollout: Rollout, by: User, by_newest_task: bool = False) -> None:
    """Ask for another verdict about a rollout that was judged. Raises Refused.

    by_newest_task: by the current revision of its task, whose verdict then counts.
    """
    if not may(by, JUDGING):
        raise Refused("Organisers let rollouts be judged again.", code="not_yours")
    if not can_be_judged(rollout):
        raise Refused("What it was judged by is not kept.", code="not_kept")
    wanted = VerdictReason.TASK_CHANGED if by_newest_task else VerdictReason.AGAIN
    with transaction.atomic():
        Rollout.objects.filter(pk=rollout.pk).update(judging_asked=wanted, judging_asked_by=by, judging_error="")
        task_request(settings.ROLLOUT_QUEUE, JUDGE_TASK)


def can_be_judged(rollout: Rollout) -> bool:
    """Return whether a rollout was judged, and what it was judged by is kept."""
    kept = (str(getattr(rollout, field).name or "") for field in NEEDED)
    return bool(rollout.outcome and rollout.record) and not any(name.startswith(REMOVED) for name in kept)


def judging_answer(*, rollout: Rollout, error: str = "") -> None:
    """Note that a verdict that was asked for was made. error: why it could not be made."""
    rows = Rollout.objects.filter(pk=rollout.pk, judging_asked=rollout.judging_asked)
    rows.update(judging_asked="", judging_asked_by=None, judging_error=error)


def judgings_asked() -> list[Rollout]:
    """Return the rollouts about which a verdict is asked for, the oldest first."""
    rows = Rollout.objects.exclude(judging_asked="").order_by("pk")
    return list(rows.select_related(*Rollout.RELATED, "task__environment", "package__environment", "judging_asked_by"))


def newest_revision(task: Task) -> int:
    """Return the number of the current revision of a task."""
    rows = Task.objects.filter(of_task(task), is_current=True)
    return rows.values_list("revision", flat=True).first() or task.revision
