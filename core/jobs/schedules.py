"""The schedules of the arena itself, as rooms have registered them."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.db.models import DateTimeField, ExpressionWrapper
from django.db.models.functions import Now
from django_q.models import Schedule

from core.jobs.apart import apart
from core.jobs.messages import TASK
from core.jobs.registry import PLANS


def schedules_mend() -> None:
    """Bring back schedules that a worker with a fast clock has delayed for all others.

    The database's clock counts, and so do the intervals that organisers have set.
    """
    for schedule in Schedule.objects.filter(name__in=PLANS, schedule_type=Schedule.MINUTES):
        with apart(f"The schedule {schedule.name}"):
            farthest = ExpressionWrapper(Now() + timedelta(minutes=schedule.minutes + 1), output_field=DateTimeField())
            Schedule.objects.filter(pk=schedule.pk, next_run__gt=farthest).update(next_run=Now())


def schedules_ensure() -> None:
    """Create missing schedules of the arena; organisers may change when they run, not what they run.

    Does nothing while django-q's table does not exist, e.g. when a single app is migrated.
    """
    if Schedule._meta.db_table not in connection.introspection.table_names():
        return
    # The one process that reads schedules takes only those without a cluster of their own, as older rows had.
    Schedule.objects.filter(func=TASK).update(cluster=None)
    for name, plan in PLANS.items():
        rows = Schedule.objects.filter(name=name)
        called = message_of(plan.queue, plan.task)
        # The path of a task changes with the code.
        rows.exclude(**called).update(**called)
        if not rows.exists():
            Schedule.objects.create(
                name=name,
                **called,
                schedule_type=Schedule.MINUTES,
                minutes=plan.minutes,
                repeats=-1,
            )


def message_of(queue: str, task: str, argument: int = 0) -> dict[str, str | None]:
    """Return the fields of a schedule's row that let a worker of a queue run a registered task."""
    return {
        "func": TASK,
        "args": repr((task, argument)),
        "kwargs": repr({"q_options": {"cluster": queue}}),
        "cluster": None,
    }
