"""Times and durations in words."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.core.exceptions import ValidationError

STEPS = ((86400 * 2, 86400, "d"), (3600 * 2, 3600, "h"), (120, 60, "min"))


def since(moment: datetime, now: datetime) -> str:
    """Return how long ago a moment was, in one unit: 0 s, 95 s, 3 min, 5 h, 2 d. A future moment was 0 s ago."""
    seconds = max(0, int((now - moment).total_seconds()))
    for least, size, unit in STEPS:
        if seconds >= least:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


@cache
def zone_names() -> tuple[str, ...]:
    """Return the names of time zones to choose from: UTC, then places of the IANA database."""
    places = (name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "SystemV/")))
    return ("UTC", *sorted(places))


def zone_check(name: str) -> None:
    """Raise ValidationError for a name that is no time zone."""
    if name and name not in zone_names():
        raise ValidationError(f"“{name}” is no time zone. Write one as Europe/Berlin, or UTC.")


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its name; the zone of the site without a name or for one that does not exist."""
    return ZoneInfo(name if name in zone_names() else settings.SITE_ZONE)


def moment(time: datetime, zone: str = "") -> str:
    """Return a point in time for a sentence, in a named zone or that of the site: 21 Nov 2026, 18:00 Europe/Berlin."""
    place = zone_of(zone)
    return f"{time.astimezone(place):%-d %b %Y, %H:%M} {place.key}"
