"""The schedules that the arena itself needs."""

from __future__ import annotations

from django.db import connection
from django_q.models import Schedule

SCHEDULES = {
    "watchdog": ("tournament_manager.tasks.watchdog", "tournament"),
    "leftovers": ("duel_runner.tasks.leftovers_reap", "duel"),
    "images": ("builder.tasks.images_remove_unused", "build"),
}
"""Name to (task, queue)."""


def schedules_ensure() -> None:
    """Create the arena's schedules, once a minute each, where they are missing; organisers may change them.

    Does nothing while django-q's table is not there yet, e.g. when a single app is migrated.
    """
    if Schedule._meta.db_table not in connection.introspection.table_names():
        return
    for name, (task, queue) in SCHEDULES.items():
        if not Schedule.objects.filter(name=name).exists():
            Schedule.objects.create(
                name=name, func=task, schedule_type=Schedule.MINUTES, minutes=1, repeats=-1, cluster=queue
            )
