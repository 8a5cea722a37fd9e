"""Seeds go on deciding ties at the cut in tournaments that began before such ties were played out."""

from __future__ import annotations

from typing import Any

from django.db import migrations


def keep(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("core", "Tournament").objects.filter(format="groups-knock-out").exclude(state="PLANNED")
    for row in rows.only("settings"):
        row.settings = {**row.settings, "cut_by_seed": True}
        row.save(update_fields=["settings"])


def forget(apps: Any, schema_editor: Any) -> None:
    """Remove a setting that the release before refuses, also from cups that have begun since."""
    rows = apps.get_model("core", "Tournament").objects.filter(format="groups-knock-out")
    for row in rows.only("settings"):
        if row.settings.pop("cut_by_seed", None) is not None:
            row.save(update_fields=["settings"])


class Migration(migrations.Migration):
    dependencies = [("core", "0018_seeds_and_rounds_revealed")]
    operations = [migrations.RunPython(keep, forget)]
