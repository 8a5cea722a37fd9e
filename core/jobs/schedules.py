"""The schedules that the arena itself needs."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.db.models import DateTimeField, ExpressionWrapper
from django.db.models.functions import Now
from django_q.models import Schedule

SCHEDULES = {
    "watchdog": ("tournament_manager.tasks.watchdog", "tournament", 1),
    "artifacts": ("tournament_manager.tasks.artifacts_remove_unused", "tournament", 10),
    "images": ("builder.tasks.images_remove_unused", "build", 1),
    "retention": ("core.operations.retention.retention_run", "tournament", 24 * 60),
    "mails": ("core.notices.mails.mails_send", "publish", 1),
    "deliveries": ("core.notices.deliveries.deliveries_run", "publish", 1),
    "verify": ("duel_runner.recheck.sample.results_verify", "duel", 60),
}
"""Name to (task, queue, minutes between two runs)."""
RETIRED = ("leftovers",)
"""Once schedules of the arena: `core.jobs.reaper` does them."""


def schedules_mend() -> None:
    """Have schedules run again that a worker whose clock is ahead has put off: for all others until their time comes.

    The database's clock counts. Organisers may have made the intervals longer, so theirs count, not those above.
    """
    for schedule in Schedule.objects.filter(name__in=SCHEDULES, schedule_type=Schedule.MINUTES):
        farthest = ExpressionWrapper(Now() + timedelta(minutes=schedule.minutes + 1), output_field=DateTimeField())
        Schedule.objects.filter(pk=schedule.pk, next_run__gt=farthest).update(next_run=Now())


def schedules_ensure() -> None:
    """Create the arena's schedules, where they are missing; organisers may change when they run, not what.

    Does nothing while django-q's table is not there yet, e.g. when a single app is migrated.
    """
    if Schedule._meta.db_table not in connection.introspection.table_names():
        return
    Schedule.objects.filter(name__in=RETIRED).delete()
    for name, (task, queue, minutes) in SCHEDULES.items():
        rows = Schedule.objects.filter(name=name)
        # Tasks are renamed with the code.
        rows.exclude(func=task).update(func=task)
        if not rows.exists():
            Schedule.objects.create(
                name=name, func=task, schedule_type=Schedule.MINUTES, minutes=minutes, repeats=-1, cluster=queue
            )
