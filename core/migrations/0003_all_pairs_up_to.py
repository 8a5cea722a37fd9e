from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0002_anchors_and_former_names'),
    ]

    operations = [
        migrations.AddField(
            model_name='environment',
            name='all_pairs_up_to',
            field=models.PositiveIntegerField(db_default=24, default=24, help_text='Up to this many agents an automatic edition plays all pairs; of more, those that say most.'),
        ),
        migrations.AlterField(
            model_name='tournament',
            name='format',
            field=models.SlugField(default='round-robin', help_text='arena_kit.ranking.formats, ladder or chosen.', max_length=30),
        ),
    ]
