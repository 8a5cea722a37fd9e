"""The schedules that the arena itself needs."""

from __future__ import annotations

from django_q.models import Schedule

SCHEDULES = {
    "watchdog": ("tournament_manager.tasks.watchdog", "tournament"),
    "leftovers": ("duel_runner.tasks.leftovers_reap", "duel"),
    "images": ("builder.tasks.images_remove_unused", "build"),
}


def schedules_ensure() -> None:
    """Create the arena's schedules, once a minute each, where they are missing; organisers may change them."""
    for name, (task, queue) in SCHEDULES.items():
        Schedule.objects.get_or_create(
            name=name,
            defaults={"func": task, "schedule_type": Schedule.MINUTES, "minutes": 1, "repeats": -1, "cluster": queue},
        )
