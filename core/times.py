"""Times and durations in words."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

STEPS = ((86400 * 2, 86400, "d"), (3600 * 2, 3600, "h"), (120, 60, "min"))


def since(moment: datetime, now: datetime) -> str:
    """Return how long ago a moment was, in one unit: 0 s, 95 s, 3 min, 5 h, 2 d. A future moment was 0 s ago."""
    seconds = max(0, int((now - moment).total_seconds()))
    for least, size, unit in STEPS:
        if seconds >= least:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def moment(time: datetime) -> str:
    """Return a point in time for a sentence: 21 Nov 2026, 18:00 UTC. A form has the zone of its own times."""
    return f"{timezone.localtime(time):%-d %b %Y, %H:%M} {timezone.get_current_timezone_name()}"
