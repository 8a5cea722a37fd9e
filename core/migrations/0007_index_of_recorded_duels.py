"""An index for the newest duels with records, made while the site goes on."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class AddIndexBeside(AddIndexConcurrently):
    """Adds an index without a lock on PostgreSQL; SQLite cannot and need not."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            # A try that did not get its locks in time, or was killed, has left an index, which may be invalid.
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(self.index.name)}")
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            migrations.AddIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        else:
            migrations.AddIndex.database_backwards(self, app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("core", "0006_blunders_and_drills")]
    operations = [
        AddIndexBeside(
            "duel",
            models.Index(
                condition=models.Q(state="SUCCEEDED") & ~models.Q(records=""), fields=["-id"], name="duel_recorded"
            ),
        )
    ]
