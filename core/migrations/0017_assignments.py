"""Assignments of courses, with baselines and extensions; challenges, evaluations and seeds may belong to one."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0016_schedules_by_their_clocks'),
    ]

    operations = [
        migrations.AlterField(
            model_name='challenge',
            name='kind',
            field=models.CharField(choices=[('AGENT', 'one agent'), ('TOP_TEN', 'the top ten'), ('BRANCH', 'another agent from a position'), ('PLAYOUT', 'another agent from positions of a match'), ('VERSION', 'another version of its agent'), ('COURSE', 'baselines of an assignment')], max_length=7),
        ),
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('about', models.TextField(blank=True, help_text='Markdown, shown on its page.', max_length=5000)),
                ('opens_at', models.DateTimeField(help_text='From then on versions play against the baselines, older ones too.')),
                ('due_at', models.DateTimeField(help_text='Versions uploaded later are late.')),
                ('late_days', models.PositiveSmallIntegerField(default=0, help_text='Days after which late versions do not count.')),
                ('late_percent', models.PositiveSmallIntegerField(default=0, help_text='Share of the marks that each day begun after the deadline costs, in percent.')),
                ('weight', models.PositiveSmallIntegerField(default=1, help_text='Its weight in the marks of the course.')),
                ('course', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='core.course')),
                ('environment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='core.environment')),
            ],
            options={
                'ordering': ['due_at', 'pk'],
            },
        ),
        migrations.AddField(
            model_name='challenge',
            name='assignment',
            field=models.ForeignKey(blank=True, help_text='For which the arena itself asked; only its course and the owner see the results.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='challenges', to='core.assignment'),
        ),
        migrations.AddField(
            model_name='evaluation',
            name='assignment',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='core.assignment'),
        ),
        migrations.AddField(
            model_name='seedlist',
            name='assignment',
            field=models.OneToOneField(editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='seed_list', to='core.assignment'),
        ),
        migrations.CreateModel(
            name='Baseline',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('score', models.FloatField(blank=True, help_text='The mean score to reach, in place of an agent.', null=True)),
                ('percent', models.PositiveSmallIntegerField(default=50, help_text='Share of the points to win against it.')),
                ('marks', models.PositiveSmallIntegerField(default=10)),
                ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='baselines', to='core.agent')),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='baselines', to='core.assignment')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Extension',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField()),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='extensions', to='core.assignment')),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='extensions', to='core.member')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(('due_at__gt', models.F('opens_at'))), name='assignment_opens_before', violation_error_message='The deadline is before it opens; set a later one.'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=models.Q(('late_days__lte', 30), ('late_percent__lte', 100), ('weight__lte', 1000)), name='assignment_numbers_in_range', violation_error_message='At most 30 late days, 100% lost and weight 1000 are possible.'),
        ),
        migrations.AddConstraint(
            model_name='baseline',
            constraint=models.UniqueConstraint(fields=('assignment', 'agent'), name='baseline_unique'),
        ),
        migrations.AddConstraint(
            model_name='baseline',
            constraint=models.CheckConstraint(condition=models.Q(('marks__gte', 1), ('marks__lte', 1000), ('percent__gte', 10), ('percent__lte', 95), ('score__gte', -1e+300), ('score__lte', 1e+300)), name='baseline_numbers_in_range'),
        ),
        migrations.AddConstraint(
            model_name='baseline',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('agent', None), ('score__isnull', False)), models.Q(('agent__isnull', False), ('score', None)), _connector='OR'), name='baseline_is_agent_or_score'),
        ),
        migrations.AddConstraint(
            model_name='extension',
            constraint=models.UniqueConstraint(fields=('assignment', 'member'), name='extension_unique'),
        ),
    ]
