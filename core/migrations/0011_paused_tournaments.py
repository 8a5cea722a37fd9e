"""Tournaments that their organisers have paused."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("core", "0007_index_of_recorded_duels")]

    operations = [
        migrations.AddField(
            model_name="tournament",
            name="paused_at",
            field=models.DateTimeField(editable=False, help_text="Since when no duel of it begins.", null=True),
        ),
    ]
