"""What the admin's first page shows above everything else."""

from __future__ import annotations

from django import template
from django.db.models import QuerySet

from core.models import Alarm, Environment

register = template.Library()


@register.simple_tag
def unavailable_environments() -> QuerySet[Environment]:
    """Environments that people are shown although this arena cannot play them."""
    return Environment.objects.filter(is_active=True).exclude(unavailable_because="").only("name")


@register.simple_tag
def open_alarms() -> QuerySet[Alarm]:
    """Alarms that nobody has settled yet, the newest first."""
    return Alarm.objects.filter(settled_at=None)
