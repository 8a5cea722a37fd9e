"""Boards of assignments, which teachers show to the class."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0025_pictures_of_tournaments'),
    ]

    operations = [
        migrations.AddField(
            model_name='assignment',
            name='has_board',
            field=models.BooleanField(db_default=False, default=False, help_text="Where agents play alone: members of the course see each other's names or teams and scores."),
        ),
    ]
