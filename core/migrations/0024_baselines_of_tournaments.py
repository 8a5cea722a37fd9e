"""Agents that play in tournaments of organisers without taking a rank."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0023_former_teams'),
    ]

    operations = [
        migrations.AddField(
            model_name='participant',
            name='is_baseline',
            field=models.BooleanField(db_default=False, default=False, help_text='It plays, but takes no rank, and no rank depends on its duels.'),
        ),
        migrations.AddField(
            model_name='tournament',
            name='baselines',
            field=models.ManyToManyField(blank=True, help_text='Agents that play without taking a rank or a place.', related_name='baseline_of', to='core.agent'),
        ),
    ]
