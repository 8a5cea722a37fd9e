from django.db import migrations


def unmirror(apps, editor):
    """Remove the copies of schedules for django-q: a minute's watch carries them out, in their own time zones."""
    apps.get_model("django_q", "Schedule").objects.filter(args__contains="tournament_scheduled").delete()


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0015_courses'),
        ('django_q', '0019_alter_task_options_alter_ormq_key_alter_ormq_lock_and_more'),
    ]

    operations = [
        migrations.RunPython(unmirror, migrations.RunPython.noop),
    ]
