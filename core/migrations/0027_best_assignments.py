"""How many assignments of a course count."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0026_boards_of_assignments'),
    ]

    operations = [
        migrations.AddField(
            model_name='course',
            name='counts_best',
            field=models.PositiveSmallIntegerField(blank=True, db_default=0, default=0, help_text='How many assignments of each student count for the percent, the best ones. 0: all.'),
        ),
    ]
