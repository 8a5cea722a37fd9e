from django.db import migrations, models
from django.db.models.functions import Coalesce


def make_whole(apps, schema_editor):
    """What older code may have left behind, made legal: leases of jobs that do not run, ends that were not noted."""
    for kind in ("Build", "Validation", "Duel", "Evaluation", "Recording", "Publication"):
        rows = apps.get_model("core", kind).objects.using(schema_editor.connection.alias)
        rows.filter(state="QUEUED").update(claim_token=None, lease_expires_at=None, ended_at=None)
        over = rows.filter(state__in=["SUCCEEDED", "FAILED", "CANCELLED"])
        over.update(lease_expires_at=None)
        over.filter(ended_at=None).update(ended_at=Coalesce("started_at", "created_at"))
        rows.filter(state="SUCCEEDED").exclude(fault="NONE").update(fault="NONE")
        rows.filter(state="FAILED", fault="NONE").update(fault="PLATFORM")
        running = rows.filter(state="RUNNING")
        running.update(ended_at=None)
        running.filter(worker="").update(worker="unknown")
        running.filter(started_at=None).update(started_at=models.F("created_at"))


class Migration(migrations.Migration):

    # Apart from the conditions that follow: PostgreSQL does not alter a table in the transaction that has changed it.
    dependencies = [
        ('core', '0014_image_retention'),
    ]

    operations = [
        migrations.RunPython(make_whole, migrations.RunPython.noop),
    ]
