"""The last 24 hours of the arena, hour by hour, from the rows of its jobs: nothing is stored for it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Avg, Count, DurationField, ExpressionWrapper, F
from django.db.models.functions import TruncHour

from core.jobs.kinds import JOB_MODELS
from core.jobs.registry import queue_of
from core.jobs.states import OPEN
from core.models import Job, JobFault, JobState

HOURS = 24
HOUR = timedelta(hours=1)
ENDED = (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Hour:
    """An hour of a queue. by_player, by_platform: failed jobs, by who is to blame. waited_seconds: mean time from the
    creation of the jobs that ended to the start of their last attempt; None without such jobs. open: waiting and
    running jobs at its end."""

    begins_at: datetime
    created: int
    succeeded: int
    by_player: int
    by_platform: int
    waited_seconds: float | None
    open: int

    @property
    def ended(self) -> int:
        return self.succeeded + self.by_player + self.by_platform


@dataclass(frozen=True, slots=True)
class QueueDay:
    """The hours of a queue, oldest first; the last one is not over yet."""

    name: str
    hours: tuple[Hour, ...]


@dataclass(frozen=True, slots=True)
class _Ended:
    kind: str
    hour: datetime
    state: str
    fault: str
    count: int
    waited: timedelta | None


def queue_days(*, now: datetime) -> list[QueueDay]:
    """Return the day of every queue that has jobs. Three queries for each kind of job."""
    first = now.replace(minute=0, second=0, microsecond=0) - (HOURS - 1) * HOUR
    hours = [first + number * HOUR for number in range(HOURS)]
    kinds = defaultdict(list)
    for kind, model in JOB_MODELS.items():
        kinds[queue_of(model)].append((kind, model))
    names = [*(name for name in settings.QUEUES if name in kinds), *(sorted(set(kinds) - {*settings.QUEUES, ""}))]
    return [QueueDay(name, _hours([model for _, model in kinds[name]], hours)) for name in names]


def _hours(models: Iterable[type[Job]], hours: list[datetime]) -> tuple[Hour, ...]:
    created, still_open, ended = Counter[datetime](), 0, list[_Ended]()
    for model in models:
        rows = model._base_manager.order_by()
        still_open += rows.filter(state__in=OPEN).count()
        new = rows.filter(created_at__gte=hours[0]).annotate(hour=TruncHour("created_at")).values_list("hour")
        created.update(dict(new.annotate(Count("pk"))))
        ended += _ended(model, hours[0])
    found = []
    # From now back: what was open before an hour, was not made in it or ended in it.
    for hour in reversed(hours):
        of_hour = [one for one in ended if one.hour == hour]
        found.append(_hour(hour, created[hour], of_hour, still_open))
        still_open += sum(one.count for one in of_hour) - created[hour]
    return tuple(reversed(found))


def _ended(model: type[Job], since: datetime) -> list[_Ended]:
    wait = ExpressionWrapper(F("started_at") - F("created_at"), output_field=DurationField())
    rows = (
        model._base_manager.order_by()
        .filter(state__in=ENDED, ended_at__gte=since)
        .annotate(hour=TruncHour("ended_at"))
        .values_list("hour", "state", "fault")
        .annotate(count=Count("pk"), waited=Avg(wait))
    )
    return [_Ended(model.KIND, *row) for row in rows]


def _hour(begins_at: datetime, created: int, ended: list[_Ended], still_open: int) -> Hour:
    counts = Counter[tuple[str, str]]()
    for one in ended:
        counts[one.state, one.fault] += one.count
    # Cancelled jobs show nothing about the time that the others had to wait.
    waits = [one for one in ended if one.waited is not None and one.state != JobState.CANCELLED]
    weight = sum(one.count for one in waits)
    seconds = sum(one.waited.total_seconds() * one.count for one in waits if one.waited is not None)
    return Hour(
        begins_at=begins_at,
        created=created,
        succeeded=sum(count for (state, _), count in counts.items() if state == JobState.SUCCEEDED),
        by_player=counts[JobState.FAILED, JobFault.PLAYER],
        by_platform=counts[JobState.FAILED, JobFault.PLATFORM],
        waited_seconds=seconds / weight if weight else None,
        open=still_open,
    )
