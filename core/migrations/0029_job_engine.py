from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("core", "0028_cancel_codes_and_public_errors"),
    ]

    operations = [
        migrations.CreateModel(
            name='Bell',
            fields=[
                ('name', models.CharField(help_text='Task and argument, e.g. work:duel.', max_length=100, primary_key=True, serialize=False)),
                ('rung_at', models.DateTimeField(help_text='By the clock of the database.')),
            ],
        ),
        migrations.RemoveIndex(
            model_name='build',
            name='build_in_line',
        ),
        migrations.RemoveIndex(
            model_name='duel',
            name='duel_in_line',
        ),
        migrations.RemoveIndex(
            model_name='evaluation',
            name='evaluation_in_line',
        ),
        migrations.RemoveIndex(
            model_name='publication',
            name='publication_in_line',
        ),
        migrations.RemoveIndex(
            model_name='recording',
            name='recording_in_line',
        ),
        migrations.RemoveIndex(
            model_name='validation',
            name='validation_in_line',
        ),
        migrations.RemoveField(
            model_name='build',
            name='woken_at',
        ),
        migrations.RemoveField(
            model_name='duel',
            name='woken_at',
        ),
        migrations.RemoveField(
            model_name='evaluation',
            name='woken_at',
        ),
        migrations.RemoveField(
            model_name='publication',
            name='woken_at',
        ),
        migrations.RemoveField(
            model_name='recording',
            name='woken_at',
        ),
        migrations.RemoveField(
            model_name='validation',
            name='woken_at',
        ),
        migrations.AddField(
            model_name='build',
            name='flow',
            field=models.CharField(blank=True, editable=False, help_text="Whose jobs it shares turns with: an owner's, or a game's.", max_length=40),
        ),
        migrations.AddField(
            model_name='build',
            name='priority',
            field=models.SmallIntegerField(default=0, editable=False, help_text='From -10, after others, to 10, before them; set by organisers.'),
        ),
        migrations.AddField(
            model_name='build',
            name='sort_key',
            field=models.BigIntegerField(default=0, editable=False, help_text='Jobs are taken by (sort_key, id): turn, priority and environment in one.'),
        ),
        migrations.AddField(
            model_name='duel',
            name='flow',
            field=models.CharField(blank=True, editable=False, help_text="Whose jobs it shares turns with: an owner's, or a game's.", max_length=40),
        ),
        migrations.AddField(
            model_name='duel',
            name='priority',
            field=models.SmallIntegerField(default=0, editable=False, help_text='From -10, after others, to 10, before them; set by organisers.'),
        ),
        migrations.AddField(
            model_name='duel',
            name='sort_key',
            field=models.BigIntegerField(default=0, editable=False, help_text='Jobs are taken by (sort_key, id): turn, priority and environment in one.'),
        ),
        migrations.AddField(
            model_name='evaluation',
            name='flow',
            field=models.CharField(blank=True, editable=False, help_text="Whose jobs it shares turns with: an owner's, or a game's.", max_length=40),
        ),
        migrations.AddField(
            model_name='evaluation',
            name='priority',
            field=models.SmallIntegerField(default=0, editable=False, help_text='From -10, after others, to 10, before them; set by organisers.'),
        ),
        migrations.AddField(
            model_name='evaluation',
            name='sort_key',
            field=models.BigIntegerField(default=0, editable=False, help_text='Jobs are taken by (sort_key, id): turn, priority and environment in one.'),
        ),
        migrations.AddField(
            model_name='publication',
            name='flow',
            field=models.CharField(blank=True, editable=False, help_text="Whose jobs it shares turns with: an owner's, or a game's.", max_length=40),
        ),
        migrations.AddField(
            model_name='publication',
            name='priority',
            field=models.SmallIntegerField(default=0, editable=False, help_text='From -10, after others, to 10, before them; set by organisers.'),
        ),
        migrations.AddField(
            model_name='publication',
            name='sort_key',
            field=models.BigIntegerField(default=0, editable=False, help_text='Jobs are taken by (sort_key, id): turn, priority and environment in one.'),
        ),
        migrations.AddField(
            model_name='recording',
            name='flow',
            field=models.CharField(blank=True, editable=False, help_text="Whose jobs it shares turns with: an owner's, or a game's.", max_length=40),
        ),
        migrations.AddField(
            model_name='recording',
            name='priority',
            field=models.SmallIntegerField(default=0, editable=False, help_text='From -10, after others, to 10, before them; set by organisers.'),
        ),
        migrations.AddField(
            model_name='recording',
            name='sort_key',
            field=models.BigIntegerField(default=0, editable=False, help_text='Jobs are taken by (sort_key, id): turn, priority and environment in one.'),
        ),
        migrations.AddField(
            model_name='validation',
            name='flow',
            field=models.CharField(blank=True, editable=False, help_text="Whose jobs it shares turns with: an owner's, or a game's.", max_length=40),
        ),
        migrations.AddField(
            model_name='validation',
            name='priority',
            field=models.SmallIntegerField(default=0, editable=False, help_text='From -10, after others, to 10, before them; set by organisers.'),
        ),
        migrations.AddField(
            model_name='validation',
            name='sort_key',
            field=models.BigIntegerField(default=0, editable=False, help_text='Jobs are taken by (sort_key, id): turn, priority and environment in one.'),
        ),
        migrations.AlterField(
            model_name='build',
            name='turn',
            field=models.PositiveBigIntegerField(default=0, editable=False, help_text='The round of its line in which it is.'),
        ),
        migrations.AlterField(
            model_name='duel',
            name='turn',
            field=models.PositiveBigIntegerField(default=0, editable=False, help_text='The round of its line in which it is.'),
        ),
        migrations.AlterField(
            model_name='evaluation',
            name='turn',
            field=models.PositiveBigIntegerField(default=0, editable=False, help_text='The round of its line in which it is.'),
        ),
        migrations.AlterField(
            model_name='publication',
            name='turn',
            field=models.PositiveBigIntegerField(default=0, editable=False, help_text='The round of its line in which it is.'),
        ),
        migrations.AlterField(
            model_name='recording',
            name='turn',
            field=models.PositiveBigIntegerField(default=0, editable=False, help_text='The round of its line in which it is.'),
        ),
        migrations.AlterField(
            model_name='validation',
            name='turn',
            field=models.PositiveBigIntegerField(default=0, editable=False, help_text='The round of its line in which it is.'),
        ),
        migrations.AddIndex(
            model_name='build',
            index=models.Index(condition=models.Q(('not_before__isnull', True), ('state', 'QUEUED')), fields=['sort_key', 'id'], name='build_in_line'),
        ),
        migrations.AddIndex(
            model_name='build',
            index=models.Index(fields=['flow', '-turn'], name='build_flow'),
        ),
        migrations.AddIndex(
            model_name='duel',
            index=models.Index(condition=models.Q(('not_before__isnull', True), ('state', 'QUEUED')), fields=['sort_key', 'id'], name='duel_in_line'),
        ),
        migrations.AddIndex(
            model_name='duel',
            index=models.Index(fields=['flow', '-turn'], name='duel_flow'),
        ),
        migrations.AddIndex(
            model_name='evaluation',
            index=models.Index(condition=models.Q(('not_before__isnull', True), ('state', 'QUEUED')), fields=['sort_key', 'id'], name='evaluation_in_line'),
        ),
        migrations.AddIndex(
            model_name='evaluation',
            index=models.Index(fields=['flow', '-turn'], name='evaluation_flow'),
        ),
        migrations.AddIndex(
            model_name='publication',
            index=models.Index(condition=models.Q(('not_before__isnull', True), ('state', 'QUEUED')), fields=['sort_key', 'id'], name='publication_in_line'),
        ),
        migrations.AddIndex(
            model_name='publication',
            index=models.Index(fields=['flow', '-turn'], name='publication_flow'),
        ),
        migrations.AddIndex(
            model_name='recording',
            index=models.Index(condition=models.Q(('not_before__isnull', True), ('state', 'QUEUED')), fields=['sort_key', 'id'], name='recording_in_line'),
        ),
        migrations.AddIndex(
            model_name='recording',
            index=models.Index(fields=['flow', '-turn'], name='recording_flow'),
        ),
        migrations.AddIndex(
            model_name='validation',
            index=models.Index(condition=models.Q(('not_before__isnull', True), ('state', 'QUEUED')), fields=['sort_key', 'id'], name='validation_in_line'),
        ),
        migrations.AddIndex(
            model_name='validation',
            index=models.Index(fields=['flow', '-turn'], name='validation_flow'),
        ),
        migrations.AddConstraint(
            model_name='build',
            constraint=models.CheckConstraint(condition=models.Q(('priority__gte', -10), ('priority__lte', 10)), name='build_priority_in_range'),
        ),
        migrations.AddConstraint(
            model_name='duel',
            constraint=models.CheckConstraint(condition=models.Q(('priority__gte', -10), ('priority__lte', 10)), name='duel_priority_in_range'),
        ),
        migrations.AddConstraint(
            model_name='evaluation',
            constraint=models.CheckConstraint(condition=models.Q(('priority__gte', -10), ('priority__lte', 10)), name='evaluation_priority_in_range'),
        ),
        migrations.AddConstraint(
            model_name='publication',
            constraint=models.CheckConstraint(condition=models.Q(('priority__gte', -10), ('priority__lte', 10)), name='publication_priority_in_range'),
        ),
        migrations.AddConstraint(
            model_name='recording',
            constraint=models.CheckConstraint(condition=models.Q(('priority__gte', -10), ('priority__lte', 10)), name='recording_priority_in_range'),
        ),
        migrations.AddConstraint(
            model_name='validation',
            constraint=models.CheckConstraint(condition=models.Q(('priority__gte', -10), ('priority__lte', 10)), name='validation_priority_in_range'),
        ),
    ]
