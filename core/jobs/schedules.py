"""The schedules that the arena itself needs, as rooms have registered them."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.db.models import DateTimeField, ExpressionWrapper
from django.db.models.functions import Now
from django_q.models import Schedule

from core.jobs.apart import apart
from core.jobs.bells import ANSWER
from core.jobs.registry import PLANS

RETIRED = ("leftovers",)
"""Names of schedules that the arena once had, and that are removed where they are left."""


def schedules_mend() -> None:
    """Have schedules run again that a worker whose clock is ahead has put off: for all others until their time comes.

    The database's clock counts. Organisers may have made the intervals longer, so theirs count, not those above.
    """
    for schedule in Schedule.objects.filter(name__in=PLANS, schedule_type=Schedule.MINUTES):
        with apart(f"The schedule {schedule.name}"):
            farthest = ExpressionWrapper(Now() + timedelta(minutes=schedule.minutes + 1), output_field=DateTimeField())
            Schedule.objects.filter(pk=schedule.pk, next_run__gt=farthest).update(next_run=Now())


def schedules_ensure() -> None:
    """Create the arena's schedules, where they are missing; organisers may change when they run, not what.

    Does nothing while django-q's table is not there yet, e.g. when a single app is migrated.
    """
    if Schedule._meta.db_table not in connection.introspection.table_names():
        return
    Schedule.objects.filter(name__in=RETIRED).delete()
    for name, plan in PLANS.items():
        rows = Schedule.objects.filter(name=name)
        called = message_of(plan.task)
        # Tasks are renamed with the code.
        rows.exclude(**called).update(**called)
        if not rows.exists():
            Schedule.objects.create(
                name=name,
                **called,
                schedule_type=Schedule.MINUTES,
                minutes=plan.minutes,
                repeats=-1,
                cluster=plan.queue,
            )


def message_of(task: str, argument: int = 0) -> dict[str, str]:
    """The fields of a schedule's row that have a registered task done."""
    return {"func": ANSWER, "args": repr((task, argument))}
