"""When a waiting job begins, estimated from the durations of the last jobs of its kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.db.models import QuerySet

from core.jobs.registry import SERVICES, queues_of
from core.jobs.turns import HEAVY
from core.models import Job, JobState

MEASURED = 20
"""The number of finished jobs of a line whose median duration counts."""
FEWEST = 5
"""With fewer finished jobs than this, there is no estimate."""
READ = 60
"""The number of finished jobs of a kind that are read to find those of each of its lines."""
_MINUTE, _HOUR = 60, 3600


@dataclass(frozen=True, slots=True)
class Estimate:
    """When a job begins. shares: whether its workers do other work too, which can come first."""

    seconds: float
    shares: bool

    @property
    def words(self) -> str:
        """The rest of a sentence such as `It is next in the queue`."""
        other = ", later if other work comes first" if self.shares else ""
        return f" and begins in {duration_words(self.seconds)}{other}"


def newest_done(kind: type[Job]) -> QuerySet[Job, tuple[Any, ...]]:
    """Return the values of LINES, the start and the end of the newest jobs of a kind that succeeded."""
    rows = kind._base_manager.filter(state=JobState.SUCCEEDED).order_by("-ended_at")
    return rows.values_list(*kind.LINES, "started_at", "ended_at")[:READ]


def durations_of(kind: type[Job]) -> Mapping[tuple[object, ...], Sequence[float]]:
    """Return how many seconds the newest jobs of a kind that succeeded ran, by the values of its LINES. One query."""
    found: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for *line, started_at, ended_at in newest_done(kind):
        if started_at is not None and len(found[tuple(line)]) < MEASURED:
            found[tuple(line)].append((ended_at - started_at).total_seconds())
    return found


def estimate_of(
    job: Job, *, place: int, workers: int, durations: Mapping[tuple[object, ...], Sequence[float]]
) -> Estimate | None:
    """Return when a job in line begins; None where there is too little to go by.

    place: its place in its line, from 1. workers: the jobs that the workers of its queues do at the same time.
    durations: of `durations_of`. Heavy jobs get only some of the workers, so there is no estimate for them.
    """
    seen = durations.get(tuple(getattr(job, name) for name in job.LINES), ())
    if workers < 1 or len(seen) < FEWEST or getattr(job, HEAVY, False):
        return None
    # All workers are busy, each half through its job on average.
    return Estimate((place - 0.5) * median(seen) / workers, shares=not _is_first(job))


def duration_words(seconds: float) -> str:
    """Write an uncertain duration in rounded words: less than a minute, about 3 minutes, about 2 hours."""
    if seconds < 0.75 * _MINUTE:
        return "less than a minute"
    if seconds < 1.5 * _MINUTE:
        return "about a minute"
    if seconds < 0.75 * _HOUR:
        minutes = round(seconds / _MINUTE)
        return f"about {minutes if minutes <= 10 else 5 * round(minutes / 5)} minutes"
    if seconds < 1.5 * _HOUR:
        return "about an hour"
    return f"about {round(seconds / _HOUR)} hours" if seconds < 24 * _HOUR else "more than a day"


def _is_first(job: Job) -> bool:
    """Return whether no other line is served before or beside that of a job."""
    return all(SERVICES[queue].lines[0].holds(job) for queue in queues_of(job))
