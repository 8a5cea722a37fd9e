"""Times that come again and again, written as cron writes them. All in UTC."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import pairwise

from croniter import CroniterBadDateError, CroniterError, croniter

from core.errors import Refused

SHORTEST = timedelta(hours=1)
"""A tournament takes its time: planned oftener they would only pile up."""
LOOKED_AT = 50
HELP = (
    "Write minute, hour, day of the month, month and day of the week, in UTC: “0 18 * * 5” is every Friday at 18:00, "
    "“30 6 1 * *” the first of every month at 6:30."
)
_NAMES = "sun|mon|tue|wed|thu|fri|sat|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_PLAIN = re.compile(rf"(?:[\d*,/-]|{_NAMES})+", re.IGNORECASE)
"""Without what the library knows beyond cron: seconds, years, and times by chance."""


def cron_check(cron: str, *, now: datetime) -> None:
    """Raise Refused for what is no cron expression, never comes, or comes too often."""
    fields = cron.split()
    try:
        if len(fields) != 5 or not all(_PLAIN.fullmatch(field) for field in fields):
            raise CroniterError("not of five plain fields")
        times = [cron_next(cron, after=now)]
        while len(times) < LOOKED_AT:
            times.append(cron_next(cron, after=times[-1]))
    except CroniterBadDateError:
        raise Refused(
            f"“{cron}” never comes: there is no such day. Take one that there is. {HELP}", field="cron"
        ) from None
    except CroniterError:
        raise Refused(f"“{cron}” is no time as cron writes it. {HELP}", field="cron") from None
    if min(later - earlier for earlier, later in pairwise(times)) < SHORTEST:
        raise Refused(
            f"“{cron}” comes more than once within an hour; take a longer time between tournaments. {HELP}",
            field="cron",
        )


def cron_next(cron: str, *, after: datetime) -> datetime:
    """The first time later than `after`."""
    found: datetime = croniter(cron, after).get_next(datetime)
    return found


def cron_last(cron: str, *, now: datetime) -> datetime:
    """The last time that has come, `now` included."""
    # The library looks for what is earlier, and knows whole seconds alone.
    found: datetime = croniter(cron, now.replace(microsecond=0) + timedelta(seconds=1)).get_prev(datetime)
    return found
