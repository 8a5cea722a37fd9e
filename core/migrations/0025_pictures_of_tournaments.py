"""Pictures of tournaments."""

import core.models.tournament
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0024_baselines_of_tournaments'),
    ]

    operations = [
        migrations.AddField(
            model_name='tournament',
            name='picture',
            field=models.FileField(blank=True, db_default='', default='', editable=False, max_length=200, upload_to=core.models.tournament.picture_name),
        ),
        migrations.AddField(
            model_name='tournament',
            name='picture_alt',
            field=models.CharField(blank=True, db_default='', default='', editable=False, help_text='Its picture in words.', max_length=200),
        ),
    ]
