"""Every application keeps the tasks that its board had when it was upgraded, as version 1."""

from __future__ import annotations

from typing import Any

from django.db import migrations


def choose(apps: Any, schema_editor: Any) -> None:
    Task, TaskSet = apps.get_model("core", "Task"), apps.get_model("core", "TaskSet")
    rows = Task.objects.filter(is_current=True, is_judged=True, file__by_organiser=True).exclude(acceptance="REFUSED")
    for key in set(rows.filter(environment__task_sets=None).order_by().values_list("environment", flat=True)):
        found = list(rows.filter(environment=key).order_by("pk"))
        chosen = [task for task in found if task.split != "PRACTICE"] or found
        made = TaskSet.objects.create(environment_id=key, number=1)
        made.tasks.set({task.fingerprint: task for task in reversed(chosen)}.values())


class Migration(migrations.Migration):
    dependencies = [("core", "0008_tasks_of_boards")]
    operations = [migrations.RunPython(choose, migrations.RunPython.noop)]
