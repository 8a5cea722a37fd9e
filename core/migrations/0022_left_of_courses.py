"""Marks by hand; extensions of people who were removed from their course."""

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0021_teams'),
    ]

    operations = [
        migrations.CreateModel(
            name='MarkByHand',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('marks', models.DecimalField(decimal_places=2, max_digits=6, validators=[django.core.validators.MinValueValidator(0)])),
                ('reason', models.CharField(help_text='Shown to the student.', max_length=300)),
                ('set_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'verbose_name': 'mark by hand',
                'verbose_name_plural': 'marks by hand',
                'ordering': ['pk'],
            },
        ),
        migrations.AddField(
            model_name='extension',
            name='removed',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='extension',
            name='member',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='extensions', to='core.member'),
        ),
        migrations.AddField(
            model_name='markbyhand',
            name='assignment',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='marks_by_hand', to='core.assignment'),
        ),
        migrations.AddField(
            model_name='markbyhand',
            name='set_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='markbyhand',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name='markbyhand',
            constraint=models.UniqueConstraint(fields=('assignment', 'user'), name='mark_by_hand_unique'),
        ),
        migrations.AddConstraint(
            model_name='markbyhand',
            constraint=models.CheckConstraint(condition=models.Q(('marks__gte', 0), models.Q(('reason', ''), _negated=True)), name='mark_by_hand_has_reason'),
        ),
    ]
