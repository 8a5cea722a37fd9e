"""A tournament without openings."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("core", "0013_time_zones")]

    operations = [
        migrations.AddField(
            model_name="tournament",
            name="has_openings",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="Otherwise every match begins at the start position of the game.",
            ),
        ),
    ]
