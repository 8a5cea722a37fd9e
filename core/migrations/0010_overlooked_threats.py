"""Threats that were overlooked are positions of an agent's collection, whose value before the move is unknown."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("core", "0009_first_tasks_of_boards")]
    operations = [
        migrations.AddField(
            model_name='blunder',
            name='steps',
            field=models.PositiveSmallIntegerField(help_text='Of an overlooked threat: the steps after which the other side wins at the latest.', null=True),
        ),
        migrations.AlterField(
            model_name='blunder',
            name='before',
            field=models.FloatField(help_text='The share of the seat here: 1 for a win, 0.5 for a draw; empty for an overlooked threat.', null=True),
        ),
    ]
