"""Fair lines: who uploads much waits behind those who upload little.

Every job that somebody waits for gets a turn, a whole number, when it is put in line; workers take what has the lowest
(turn, id). An owner's jobs get turns one after the other, beginning with the highest turn that was ever begun: so
whoever comes now is served with the next round, however many jobs somebody else has in line, and whoever was served
a moment ago comes after those who were not. This is start-time fair queueing (Goyal, Vin and Cheng, 1996) with jobs
of equal length. The place of a job in its line is a count over an index, and so is never a guess.
"""

from __future__ import annotations

from django.db.models import Max

from core.models import Job


def turn_next(*, job: Job) -> int:
    """The turn of a job that is put in line now: 0 where nobody in particular waits for it, else from 1."""
    if not job.OWNER:
        return 0
    rows = type(job)._default_manager.order_by()
    begun = rows.filter(turn__gt=0, attempt__gt=0).aggregate(turn=Max("turn"))["turn"] or 1
    owner = rows.filter(pk=job.pk).values_list(job.OWNER)[:1]
    last = rows.filter(**{job.OWNER: owner}).aggregate(turn=Max("turn"))["turn"] or 0
    return max(begun, last + 1)
