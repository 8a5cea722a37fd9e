"""What organisers say about a tournament."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("core", "0011_paused_tournaments")]

    operations = [
        migrations.AddField(
            model_name="tournament",
            name="about",
            field=models.TextField(
                blank=True, db_default="", help_text="Rules, prizes, contact: Markdown, shown on its page.", max_length=5000
            ),
        ),
    ]
