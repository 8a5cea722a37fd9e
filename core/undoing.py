"""What keeps an upgrade from being undone: said before anything is, not half way by the database."""

from __future__ import annotations

from typing import Any

from django.apps.registry import Apps
from django.core.management import CommandError
from django.db.migrations import Migration
from django.db.models import Count

EVERY_KIND = ("core", "0020_every_kind_of_tournament")


def undo_check(*, plan: list[tuple[Migration, bool]], apps: Apps, using: str, **_: Any) -> None:
    """Raise CommandError where `plan` undoes EVERY_KIND, and rows are there for which older code has no place.

    Called before `manage.py migrate` does anything. plan: migrations, and whether each is undone. apps: models as they
    are before it.
    """
    if not any(is_undone and (step.app_label, step.name) == EVERY_KIND for step, is_undone in plan):
        return
    duels = apps.get_model("core", "Duel")._default_manager.using(using)
    tournaments = apps.get_model("core", "Tournament")._default_manager.using(using)
    crowded = tournaments.filter(state="RUNNING").order_by().values("environment").annotate(count=Count("pk"))
    counts = {
        "duels of promotions": duels.exclude(promotion=None).count(),
        "duels of challenges": duels.exclude(challenge=None).count(),
        "tournaments that are planned, or were cancelled before they began": tournaments.filter(
            started_at=None
        ).count(),
        "environments in which more than one tournament runs": crowded.filter(count__gt=1).count(),
    }
    found = [f"{what}: {count}" for what, count in counts.items() if count]
    if found:
        raise CommandError(
            "Nothing was undone. Older code has no place for what is there by now:\n  "
            + "\n  ".join(found)
            + "\nTo go back to it, put back a backup of before the upgrade (`manage.py restore`). Tournaments that run "
            "beside others can also be cancelled, or played to their end."
        )
