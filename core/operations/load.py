"""How busy the workers of each queue were on the last day, how long jobs waited, and what one more worker would do.

The last is found by playing the day again: the same jobs, at the same times and as long, in the order in which they
came, on one more worker. `benchmarks.capacity` plays the day of a site that does not exist yet in the same way.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from core.cache.answers import cached
from core.jobs.registry import at_once, kinds_of
from core.jobs.worker_selectors import workers_alive
from core.models import Job, Sitting

DAY = timedelta(days=1)
MOST_JOBS = 20_000
"""The most jobs of a kind that are read, the last ones that ended."""
PERCENTILE = 95
KEPT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """The last 24 hours of a queue with workers and jobs.

    workers: that are alive now. busy: share of the time of their places in which they had a job, 0 to 1. waited,
    waited_with_one_more: seconds from the creation to the start of a job, the 95th percentile.
    """

    name: str
    workers: int
    busy: float
    waited: float
    waited_with_one_more: float


def queue_loads(*, now: datetime) -> list[QueueLoad]:
    """Return the load of each queue that has workers and ended a job. One query for each kind of job.

    Sittings are left out: they last as long as people think, and need no worker meanwhile.
    """
    return cached("queue-loads", list[QueueLoad], lambda: _loads(now), seconds=KEPT_SECONDS)


def waits(jobs: Iterable[tuple[float, float]], places: int) -> list[float]:
    """Return how long each job waits for one of so many places, in seconds, first come, first served.

    jobs: when each comes and how long it takes, in seconds, in the order in which they come.
    """
    free = [-math.inf] * places
    found = []
    for comes, seconds in jobs:
        begins = max(comes, heapq.heappop(free))
        heapq.heappush(free, begins + seconds)
        found.append(begins - comes)
    return found


def percentile(seconds: Sequence[float]) -> float:
    """Return the 95th percentile, by the nearest rank; 0 of nothing."""
    if not seconds:
        return 0.0
    return sorted(seconds)[math.ceil(len(seconds) * PERCENTILE / 100) - 1]


def _loads(now: datetime) -> list[QueueLoad]:
    found = []
    for name in settings.QUEUES:
        workers = workers_alive(name).count()
        jobs = sorted(job for kind in kinds_of(name) if kind is not Sitting for job in _jobs(kind, now))
        if workers and jobs:
            found.append(_load(name, workers, jobs, now))
    return found


def _jobs(kind: type[Job], now: datetime) -> list[tuple[datetime, datetime, datetime]]:
    """Return when the jobs that ended on the last day were made, begun and ended."""
    rows = kind._base_manager.filter(ended_at__gte=now - DAY)
    times = rows.order_by("-ended_at").values_list("created_at", "started_at", "ended_at")[:MOST_JOBS]
    return [(created, started, ended) for created, started, ended in times if started and ended]


def _load(name: str, workers: int, jobs: Sequence[tuple[datetime, datetime, datetime]], now: datetime) -> QueueLoad:
    begun = now - DAY
    places = workers * at_once(name)
    busy = sum((ended - max(started, begun)).total_seconds() for _, started, ended in jobs)
    waited = percentile([(started - created).total_seconds() for created, started, _ in jobs])
    again = [(created.timestamp(), (ended - started).total_seconds()) for created, started, ended in jobs]
    played, more = (percentile(waits(again, count)) for count in (places, places + at_once(name)))
    return QueueLoad(
        name=name,
        workers=workers,
        busy=min(1.0, busy / (places * DAY.total_seconds())),
        waited=waited,
        # Workers also need time between two jobs, which the played day has not: what counts is how much shorter it is.
        waited_with_one_more=waited * more / played if played else waited,
    )
