"""Tags for the alarms at the top of the admin's first page."""

from __future__ import annotations

from django import template
from django.db.models import QuerySet

from core.environments.availability import environment_missing_list
from core.models import Alarm, Environment

register = template.Library()


@register.simple_tag
def unavailable_environments() -> list[Environment]:
    """Return the active environments that this arena cannot play."""
    return environment_missing_list()


@register.simple_tag
def open_alarms() -> QuerySet[Alarm]:
    """Return the alarms that are not settled, newest first."""
    return Alarm.objects.filter(settled_at=None)
