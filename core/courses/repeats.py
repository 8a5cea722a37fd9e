"""Times and names of what a course has once more, a week later."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from core.times import zone_of


def weeks_later(time: datetime, zone: str, weeks: int = 1) -> datetime:
    """Return a time some weeks later, as `days_later`."""
    return days_later(time, zone, 7 * weeks)


def days_later(time: datetime, zone: str, days: int) -> datetime:
    """Return a time some days later by the clocks of a zone, so that 18:00 stays 18:00 when they change."""
    place = zone_of(zone)
    return (time.astimezone(place).replace(tzinfo=None) + timedelta(days=days)).replace(tzinfo=place)


def next_name(name: str, most: int, steps: int = 1) -> str:
    """Return the name of a copy: after Week 1 comes Week 2; one without a number says that it is a copy.

    most: its maximum of characters. steps: how much later.
    """
    words, number = re.fullmatch(r"(.*?)(\d*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    if number:
        return f"{words}{int(number) + steps}"
    return f"{name}, {'a week' if steps == 1 else f'{steps} weeks'} later"[:most]
