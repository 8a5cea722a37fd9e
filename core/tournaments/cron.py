"""Recurring times as cron expressions, by the clocks of a time zone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from croniter import CroniterBadDateError, CroniterError, croniter

from core.errors import Refused
from core.times import zone_of

SHORTEST = timedelta(hours=1)
"""The shortest time between tournaments of a schedule, so that they do not pile up."""
LOOKED_AT = 50
HELP = (
    "Write minute, hour, day of the month, month and day of the week: “0 18 * * 5” is every Friday at 18:00, "
    "“30 6 1 * *” the first of every month at 6:30."
)
_NAMES = "sun|mon|tue|wed|thu|fri|sat|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_PLAIN = re.compile(rf"(?:[\d*,/-]|{_NAMES})+", re.IGNORECASE)
"""Plain cron fields: the library also accepts seconds, years and random times."""


def cron_check(cron: str, *, now: datetime) -> None:
    """Raise Refused for an invalid cron expression, and for one that never occurs or occurs too often."""
    fields = cron.split()
    try:
        if len(fields) != 5 or not all(_PLAIN.fullmatch(field) for field in fields):
            raise CroniterError("not of five plain fields")
        times = [cron_next(cron, after=now, zone="UTC")]
        while len(times) < LOOKED_AT:
            times.append(cron_next(cron, after=times[-1], zone="UTC"))
    except CroniterBadDateError:
        raise Refused(f"“{cron}” never occurs, because there is no such day. {HELP}", field="cron") from None
    except CroniterError:
        raise Refused(f"“{cron}” is not a time in the form of cron. {HELP}", field="cron") from None
    if min(later - earlier for earlier, later in pairwise(times)) < SHORTEST:
        raise Refused(
            f"“{cron}” occurs more than once an hour; leave at least an hour between tournaments. {HELP}",
            field="cron",
        )


def cron_next(cron: str, *, after: datetime, zone: str = "") -> datetime:
    """The first occurrence later than `after`, by the clocks of a zone or of the site.

    A time that the change of clocks skips comes at the change, and one that it repeats comes once.
    """
    return _found(croniter(cron, after.astimezone(zone_of(zone))).get_next)


def cron_last(cron: str, *, now: datetime, zone: str = "") -> datetime:
    """The last occurrence up to and including `now`."""
    # The library looks for strictly earlier times and has a resolution of one second.
    begin = (now.replace(microsecond=0) + timedelta(seconds=1)).astimezone(zone_of(zone))
    return _found(croniter(cron, begin).get_prev)


def _found(step: Callable[[type[datetime]], datetime]) -> datetime:
    """Return the first result of a step that no change of clocks repeats."""
    while True:
        found = step(datetime)
        if (first := found.replace(fold=0).astimezone(UTC)) == found.astimezone(UTC):
            return first
