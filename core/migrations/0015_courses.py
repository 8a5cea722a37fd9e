"""Courses, their members and announcements; environments and tournaments may belong to one."""


import core.times
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0014_openings_of_tournaments'),
    ]

    operations = [
        migrations.CreateModel(
            name='Course',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('time_zone', models.CharField(blank=True, db_default='', default='', help_text='Its times are shown in this zone to everyone, also when clocks change.', max_length=40, validators=[core.times.zone_check])),
                ('slug', models.SlugField(help_text='Its name in addresses.', unique=True)),
                ('name', models.CharField(max_length=100)),
                ('kind', models.CharField(choices=[('COURSE', 'course'), ('LEAGUE', 'league'), ('CLUB', 'club')], default='COURSE', max_length=6)),
                ('about', models.TextField(blank=True, help_text='Markdown, shown on its page.', max_length=5000)),
                ('seen_by', models.CharField(choices=[('EVERYONE', 'everyone'), ('LINK', 'people with the link'), ('MEMBERS', 'members only')], default='MEMBERS', max_length=8)),
                ('join_number', models.PositiveIntegerField(editable=False, help_text='A random number in its join link; empty while there is no link.', null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.AlterField(
            model_name='notice',
            name='kind',
            field=models.CharField(choices=[('VALIDATED', 'A version of yours is ready to play'), ('VALIDATION', 'A version of yours fails before it may play'), ('EVALUATED', 'A version of yours has its score'), ('QUARANTINE', 'An agent of yours is paused for crashing'), ('PROMOTION_DECIDED', 'A new version has been tested against the one in play'), ('TOURNAMENT_OPEN', 'Agents of yours may register for a tournament'), ('TOURNAMENT_INVITED', 'You are invited to a tournament'), ('TOURNAMENT_STARTED', 'A tournament of yours begins'), ('TOURNAMENT_ENDED', 'A tournament of yours is over'), ('OVERTAKEN', 'An agent of yours is overtaken'), ('CHALLENGE_ENDED', 'A challenge of yours is over'), ('ANNOUNCEMENT', 'News of a course of yours'), ('ACCESS', 'The ways to log in to your account have changed')], max_length=20),
        ),
        migrations.AlterField(
            model_name='noticechoice',
            name='kind',
            field=models.CharField(choices=[('VALIDATED', 'A version of yours is ready to play'), ('VALIDATION', 'A version of yours fails before it may play'), ('EVALUATED', 'A version of yours has its score'), ('QUARANTINE', 'An agent of yours is paused for crashing'), ('PROMOTION_DECIDED', 'A new version has been tested against the one in play'), ('TOURNAMENT_OPEN', 'Agents of yours may register for a tournament'), ('TOURNAMENT_INVITED', 'You are invited to a tournament'), ('TOURNAMENT_STARTED', 'A tournament of yours begins'), ('TOURNAMENT_ENDED', 'A tournament of yours is over'), ('OVERTAKEN', 'An agent of yours is overtaken'), ('CHALLENGE_ENDED', 'A challenge of yours is over'), ('ANNOUNCEMENT', 'News of a course of yours'), ('ACCESS', 'The ways to log in to your account have changed')], max_length=20),
        ),
        migrations.CreateModel(
            name='Announcement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=150)),
                ('text', models.TextField(help_text='Markdown.', max_length=5000)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('tournament', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='core.tournament')),
                ('written_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('course', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='announcements', to='core.course')),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.AddField(
            model_name='environment',
            name='course',
            field=models.ForeignKey(blank=True, help_text='The course that it belongs to: only people who see the course see it, its agents and their results.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='environments', to='core.course'),
        ),
        migrations.AddField(
            model_name='tournament',
            name='course',
            field=models.ForeignKey(blank=True, help_text='Only people who see the course see it. Its duels may still count for ratings.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='tournaments', to='core.course'),
        ),
        migrations.CreateModel(
            name='Member',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('TEACHER', 'teacher'), ('TUTOR', 'tutor'), ('REFEREE', 'referee'), ('STUDENT', 'student')], default='STUDENT', max_length=7)),
                ('joined_at', models.DateTimeField(auto_now_add=True)),
                ('course', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='core.course')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('course', 'user'), name='member_unique')],
            },
        ),
    ]
