"""Fair lines: who uploads much waits behind those who upload little.

Every job that somebody waits for gets a turn, a whole number, when it is put in line; workers take what has the lowest
(turn, id). An owner's jobs get turns one after the other, beginning with the highest turn that was ever begun: so
whoever comes now is served with the next round, however many jobs somebody else has in line, and whoever was served
a moment ago comes after those who were not. This is start-time fair queueing (Goyal, Vin and Cheng, 1996) with jobs
of equal length. What nobody in particular waits for has turn 1, so that it is done in its order. Whoever was begun
before goes first, with turn 0. The place of a job in its line is a count over an index, and so is never a guess.
"""

from __future__ import annotations

from django.db.models import Max

from core.models import Job, JobState

FIRST, FRONT = 1, 0
"""The first turn, which is also that of jobs without an owner; and that of jobs that were begun before."""


def turn_next(*, job: Job) -> int:
    """The turn of a job that is put in line now, from 1."""
    if not job.OWNER:
        return FIRST
    # In each line for itself: one moves faster than another.
    same_line = {name: getattr(job, name) for name in job.LINES}
    rows = type(job)._default_manager.filter(**same_line).order_by()
    begun = rows.filter(turn__gt=FIRST, attempt__gt=0).aggregate(turn=Max("turn"))["turn"] or FIRST
    owner = rows.filter(pk=job.pk).values_list(job.OWNER)[:1]
    # What was cancelled before it was begun has cost nobody anything.
    served = rows.filter(**{job.OWNER: owner}).exclude(state=JobState.CANCELLED, attempt=0)
    last = served.aggregate(turn=Max("turn"))["turn"] or 0
    return max(begun, last + 1)
