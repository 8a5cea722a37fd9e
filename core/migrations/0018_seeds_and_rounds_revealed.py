"""Seeds by hand or by lot, and results that are revealed round by round."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("core", "0017_assignments")]

    operations = [
        migrations.AddField(
            model_name="tournament",
            name="seeded_by",
            field=models.CharField(
                choices=[("RATING", "rating"), ("BY_HAND", "organisers"), ("DRAWN", "lot")],
                db_default="RATING",
                default="RATING",
                help_text="How participants are put in order.",
                max_length=7,
            ),
        ),
        migrations.AddField(
            model_name="tournament",
            name="revealed_to_all",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                editable=False,
                help_text="Everyone sees rounds up to this one while results are withheld.",
            ),
        ),
        migrations.AddField(
            model_name="tournament",
            name="revealed_to_participants",
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name="registration",
            name="seed",
            field=models.PositiveIntegerField(
                editable=False, help_text="Its seed if organisers decide about the seeds.", null=True
            ),
        ),
    ]
