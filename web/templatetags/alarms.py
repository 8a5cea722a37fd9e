"""Tags for the alarms at the top of the admin's first page."""

from __future__ import annotations

from django import template
from django.db.models import QuerySet

from core.models import Alarm, Environment

register = template.Library()


@register.simple_tag
def unavailable_environments() -> QuerySet[Environment]:
    """Return the active environments that this arena cannot play."""
    return Environment.objects.filter(is_active=True).exclude(unavailable_because="").only("name")


@register.simple_tag
def open_alarms() -> QuerySet[Alarm]:
    """Return the alarms that are not settled, newest first."""
    return Alarm.objects.filter(settled_at=None)
