"""Charts of the page for operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import mark_safe

from core.cache.answers import cached
from core.jobs.worker_selectors import WorkerState, worker_rows
from core.operations.day import HOUR, Hour, QueueDay, queue_days
from core.operations.queue_status import queue_statuses
from core.times import since
from web.site.plots import Axis, Plot, PlotLine, PlotTable

COLOURS = ("--first", "--second", "--good", "--busy", "--accent")
DASHES: tuple[tuple[int, ...], ...] = ((), (6, 4), (2, 3), (10, 3, 2, 3), (1, 5))
"""Lines differ by their strokes as well as by their colours."""
NOTHING = "–"
KEPT_SECONDS = 60.0
"""Age up to which the charts of the day are shown as they are."""


@dataclass(frozen=True, slots=True)
class Host:
    """A machine with workers. queues: of those that are alive. trouble: current engine errors."""

    name: str
    alive: int
    lost: int
    queues: str
    running: int
    done: int
    faults: int
    seen: str
    versions: str
    trouble: str


def hosts(now: datetime) -> list[Host]:
    """Return the machines whose workers have not all ended in order, by name."""
    by_name: dict[str, list[Any]] = {}
    for row in worker_rows().filter(stopped_at=None).order_by("host", "queue", "pid"):
        by_name.setdefault(row.host, []).append(row)
    return [_host(name, rows, now) for name, rows in by_name.items()]


def _host(name: str, rows: Sequence[Any], now: datetime) -> Host:
    alive = [row for row in rows if row.state == WorkerState.ALIVE]
    return Host(
        name=name,
        alive=len(alive),
        lost=len(rows) - len(alive),
        queues=", ".join(sorted({row.queue for row in alive})) or NOTHING,
        running=sum(row.job_id is not None for row in alive),
        done=sum(row.jobs_done for row in rows),
        faults=sum(row.faults for row in rows),
        seen=f"{since(max(row.seen_at for row in rows), now)} ago",
        versions=", ".join(sorted({text for row in rows for text in (row.version, row.engine) if text})),
        trouble=" ".join(sorted({row.engine_error for row in alive if row.engine_error})),
    )


def queue_figures() -> dict[str, Any]:
    """Return the figures of this moment: all queues together, and each with its ages in words."""
    rows, now = queue_statuses(), timezone.now()
    oldest = min((row.oldest_at for row in rows if row.oldest_at), default=None)

    def ago(moment: datetime | None) -> str:
        return NOTHING if moment is None else since(moment, now)

    return {
        "queues": [(row, ago(row.oldest_at), ago(row.finished_at)) for row in rows],
        "running": sum(row.running for row in rows),
        "waiting": sum(row.waiting + row.delayed for row in rows),
        "alive": sum(row.workers for row in rows),
        "oldest": ago(oldest),
    }


class DayShown(NamedTuple):
    """The last 24 hours. charts: their sections as HTML. error_rate: of all jobs together, in words."""

    charts: str
    error_rate: str


def day_shown(now: datetime) -> DayShown:
    """Return the charts of the day, made at most a minute ago."""
    found = cached("operations:day", DayShown, lambda: _day(now), seconds=KEPT_SECONDS)
    return found._replace(charts=mark_safe(found.charts))  # noqa: S308  (rendered by a template, which escapes)


def _day(now: datetime) -> DayShown:
    days = queue_days(now=now)
    charts = {"open": open_plot(days), "ended": ended_plot(days), "rates": rates_plot(days), "waits": waits_plot(days)}
    return DayShown(render_to_string("web/operations/day.html", charts).strip(), platform_share(days))


@dataclass(frozen=True, slots=True)
class Ended:
    """The jobs of all queues that ended in an hour."""

    begins_at: datetime
    succeeded: int
    by_player: int
    by_platform: int

    @property
    def all(self) -> int:
        return self.succeeded + self.by_player + self.by_platform


def ended_hours(days: Sequence[QueueDay]) -> list[Ended]:
    """Return the hours of all queues together."""
    return [
        Ended(
            hours[0].begins_at,
            sum(one.succeeded for one in hours),
            sum(one.by_player for one in hours),
            sum(one.by_platform for one in hours),
        )
        for hours in zip(*(day.hours for day in days), strict=True)
    ]


def platform_share(days: Sequence[QueueDay]) -> str:
    """Write the share of all jobs of the day that failed by the arena's fault."""
    hours = [hour for day in days for hour in day.hours]
    return share(sum(hour.by_platform for hour in hours), sum(hour.ended for hour in hours))


def ended_plot(days: Sequence[QueueDay]) -> Plot:
    """Return the jobs that ended in each hour. Bars lie on each other, so that their tops add up."""
    rows = ended_hours(days)
    moments = [row.begins_at for row in rows]
    return Plot(
        summary=f"Jobs that ended in the last 24 hours: {sum(row.succeeded for row in rows)} succeeded, "
        f"{sum(row.by_player for row in rows)} failed by a player's fault, "
        f"{sum(row.by_platform for row in rows)} by the arena's.",
        x=_hours_axis(moments),
        y=Axis("Jobs", "whole", 0),
        xs=[*(moment.timestamp() for moment in moments), (moments[-1] + HOUR).timestamp()],
        lines=(
            PlotLine("succeeded", [row.all for row in rows], "--first", "bars"),
            PlotLine("failed by a player's fault", [row.by_player + row.by_platform for row in rows], "--busy", "bars"),
            PlotLine("failed by the arena's fault", [row.by_platform for row in rows], "--bad", "bars"),
        ),
        table=PlotTable(
            ("Hour from", "Succeeded", "Failed, a player's fault", "Failed, the arena's fault", "Share of the arena's"),
            tuple(
                (
                    _clock(row.begins_at),
                    str(row.succeeded),
                    str(row.by_player),
                    str(row.by_platform),
                    share(row.by_platform, row.all),
                )
                for row in rows
            ),
        ),
    )


def rates_plot(days: Sequence[QueueDay]) -> Plot:
    """Return the share of the ended jobs of each queue that failed by the arena's fault."""
    return _by_queue(
        days,
        "Share of the jobs that failed by the arena's fault",
        Axis("Share", "share", 0, _highest(days)),
        lambda hour: hour.by_platform / hour.ended if hour.ended else None,
        lambda hour: share(hour.by_platform, hour.ended),
    )


def _highest(days: Sequence[QueueDay]) -> float:
    """Return the end of the axis of shares: a tenth, or what the worst hour needs."""
    shares = [hour.by_platform / hour.ended for day in days for hour in day.hours if hour.ended]
    return min(1.0, max([0.1, *(1.1 * one for one in shares)]))


def open_plot(days: Sequence[QueueDay]) -> Plot:
    """Return how many jobs of each queue waited or ran at the end of each hour."""
    return _by_queue(
        days,
        "Waiting and running jobs at the end of each hour",
        Axis("Jobs", "whole", 0),
        lambda hour: hour.open,
        lambda hour: str(hour.open),
    )


def waits_plot(days: Sequence[QueueDay]) -> Plot:
    """Return how long the jobs that ended in each hour had waited, in minutes."""
    return _by_queue(
        days,
        "Mean time that the jobs of each hour had waited, in minutes",
        Axis("Minutes", low=0),
        lambda hour: None if hour.waited_seconds is None else round(hour.waited_seconds / 60, 2),
        lambda hour: NOTHING if hour.waited_seconds is None else f"{hour.waited_seconds / 60:.1f}",
    )


def _by_queue(
    days: Sequence[QueueDay],
    title: str,
    y: Axis,
    value: Callable[[Hour], float | None],
    text: Callable[[Hour], str],
) -> Plot:
    moments = [hour.begins_at for hour in days[0].hours]
    latest = ", ".join(f"{day.name} {text(day.hours[-1])}" for day in days)
    return Plot(
        summary=f"{title}. In this hour: {latest}.",
        x=_hours_axis(moments),
        y=y,
        xs=[moment.timestamp() for moment in moments],
        lines=tuple(
            PlotLine(
                day.name,
                [value(hour) for hour in day.hours],
                COLOURS[place % len(COLOURS)],
                "both",
                DASHES[place % len(DASHES)],
            )
            for place, day in enumerate(days)
        ),
        table=PlotTable(
            ("Hour from", *(day.name for day in days)),
            tuple((_clock(moment), *(text(day.hours[place]) for day in days)) for place, moment in enumerate(moments)),
        ),
    )


def _hours_axis(moments: Sequence[datetime]) -> Axis:
    return Axis("Hour (UTC)", "time", moments[0].timestamp(), (moments[-1] + HOUR).timestamp())


def _clock(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%H:%M}"


def share(part: int, whole: int) -> str:
    """Write a part of a whole: 1.5%."""
    return f"{part / whole:.1%}" if whole else NOTHING
