"""Tournaments that are paused, and participants that are disqualified."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("core", "0007_index_of_recorded_duels")]

    operations = [
        migrations.AddField(
            model_name="tournament",
            name="paused_at",
            field=models.DateTimeField(editable=False, help_text="Since when no duel of it begins.", null=True),
        ),
        migrations.AddField(
            model_name="participant",
            name="disqualified_because",
            field=models.CharField(
                blank=True,
                db_default="",
                editable=False,
                help_text="Empty unless organisers disqualified it.",
                max_length=200,
            ),
        ),
    ]
