"""Ratings of the past."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from django.db.models import F, Max, Min

from core.models import Agent, Environment, RatingPoint, Submission

MOST_POINTS = 500
"""The most points of a history; of longer ones only every second, third, … moment is shown."""


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """An agent's rating at a moment, i.e. that of its version at the time.

    value: on the Elo scale. low, high: the 95% interval, None in old editions without one. rank: None where none
    was stored.
    """

    at: datetime
    number: int
    value: float
    low: float | None
    high: float | None
    rank: int | None


@dataclass(frozen=True, slots=True)
class VersionMark:
    """When a version of an agent was uploaded."""

    at: datetime
    number: int


@dataclass(frozen=True, slots=True)
class RatingHistory:
    """The ratings of an agent over time. versions: those that have points, by number."""

    points: tuple[HistoryPoint, ...]
    versions: tuple[VersionMark, ...]


@dataclass(frozen=True, slots=True)
class PastLeaderboard:
    """The leaderboard at a moment, best first, with submissions, agents and owners loaded."""

    at: datetime
    points: tuple[RatingPoint, ...]


def leaderboard_as_of(environment: Environment, moment: datetime) -> PastLeaderboard | None:
    """The last leaderboard of duels stored up to a moment; None before the first. Two queries."""
    rows = RatingPoint.objects.filter(environment=environment)
    at = rows.filter(at__lte=moment).aggregate(last=Max("at"))["last"]
    if at is None:
        return None
    # Old moments were stored without ranks.
    ordered = rows.filter(at=at).order_by(F("rank").asc(nulls_last=True), "-value", "submission__agent__name")
    return PastLeaderboard(at, tuple(ordered.select_related("submission__agent__owner")))


def history_begins(environment: Environment) -> datetime | None:
    """When the first leaderboard of duels was stored."""
    found: datetime | None = RatingPoint.objects.filter(environment=environment).aggregate(first=Min("at"))["first"]
    return found


def rating_history(agent: Agent, most: int = MOST_POINTS) -> RatingHistory:
    """An agent's rating over time and versions, in about this many points at most. Two queries.

    The first and the last point of every version are always included.
    """
    rows = RatingPoint.objects.filter(submission__agent=agent).order_by("at", "submission__number")
    points = [
        HistoryPoint(*columns)
        for columns in rows.values_list("at", "submission__number", "value", "low", "high", "rank")
    ]
    shown = {point.number for point in points}
    uploaded = Submission.objects.filter(agent=agent, number__in=shown).order_by("number")
    marks = [VersionMark(*columns) for columns in uploaded.values_list("created_at", "number")]
    return RatingHistory(_thinned(points, most), tuple(marks))


def _thinned(points: list[HistoryPoint], most: int) -> tuple[HistoryPoint, ...]:
    step = -(-len(points) // most)
    if step < 2:
        return tuple(points)
    ends = {0, len(points) - 1}
    for place, (point, following) in enumerate(pairwise(points)):
        if point.number != following.number:
            ends |= {place, place + 1}
    return tuple(point for place, point in enumerate(points) if place % step == 0 or place in ends)
