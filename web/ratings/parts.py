"""Ratings as an edition's table and an agent's page show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from django.contrib.auth.models import AnonymousUser
from django.http import Http404

from core.models import Agent, Participant, Rating, RatingPoint, TournamentState
from core.ratings.history import RatingHistory
from core.submissions.naming import agent_once_named
from core.submissions.selectors import agent_get
from web.site.numbers import short
from web.site.plots import Axis, Mark, Plot, PlotLine, Span
from web.site.whiskers import Whisker, whiskers


@dataclass(frozen=True, slots=True)
class RatingView:
    """A rating with its place on the scale that all rows share.

    low, high: None for a rating of an old edition without an interval. best_rank to match_count: None for a rating of
    an old edition; the ranks also for one that is unranked. change: since yesterday, None where it is not known.
    """

    value: float
    low: float | None
    high: float | None
    best_rank: int | None = None
    worst_rank: int | None = None
    best_chance: float | None = None
    match_count: int | None = None
    change: float | None = None
    whisker: Whisker | None = None

    @property
    def is_reference(self) -> bool:
        """Return whether the scale hangs on it."""
        return self.low is not None and self.low == self.high


def agent_shown(slug: str, name: str) -> Agent:
    """Return an agent that strangers see, by a former name too: other sites hold these addresses. Raises Http404."""
    with suppress(Agent.DoesNotExist):
        return agent_get(slug, name, AnonymousUser())
    if (renamed := agent_once_named(slug, name)) is not None:
        with suppress(Agent.DoesNotExist):
            return agent_get(slug, renamed.name, AnonymousUser())
    raise Http404(f"There is no agent {name} in {slug}.")


def with_ratings(participants: Iterable[Participant]) -> list[tuple[Participant, RatingView | None]]:
    """Return the rows of a tournament's table with their ratings.

    A running one shows current ratings, another one those at its end. A rating is None if none was stored, as in a
    cancelled edition.
    """
    rows = list(participants)
    views = _on_one_scale(
        [_current(row) if row.tournament.state == TournamentState.RUNNING else _kept(row) for row in rows]
    )
    return list(zip(rows, views, strict=True))


def current_ratings(rows: Sequence[Rating], changes: Mapping[int, float]) -> list[tuple[Rating, RatingView]]:
    """Return the rows of a leaderboard with their ratings. changes: by agent, since yesterday."""
    views = _on_one_scale([replace(_view(row), change=changes.get(row.submission.agent_id)) for row in rows])
    return [(row, view) for row, view in zip(rows, views, strict=True) if view is not None]


def past_ratings(points: Iterable[RatingPoint]) -> list[tuple[RatingPoint, RatingView]]:
    """Return the rows of a leaderboard of the past with their ratings."""
    rows = list(points)
    views = _on_one_scale([RatingView(row.value, row.low, row.high, row.best_rank, row.worst_rank) for row in rows])
    return [(row, view) for row, view in zip(rows, views, strict=True) if view is not None]


def _on_one_scale(views: Sequence[RatingView | None]) -> list[RatingView | None]:
    """Return the same ratings; each one with an interval gets its place on the shared scale."""
    spans = [
        (view.low, view.value, view.high) for view in views if view and view.low is not None and view.high is not None
    ]
    places = iter(whiskers(spans)[0])
    return [
        replace(view, whisker=next(places)) if view and view.low is not None and view.high is not None else view
        for view in views
    ]


def _kept(row: Participant) -> RatingView | None:
    if row.rating is None:
        return None
    return RatingView(row.rating, row.rating_low, row.rating_high)


def _current(row: Participant) -> RatingView | None:
    rating = getattr(row.submission, "rating", None)
    return None if rating is None else _view(rating)


def _view(rating: Rating) -> RatingView:
    return RatingView(
        rating.value,
        rating.low,
        rating.high,
        rating.best_rank,
        rating.worst_rank,
        rating.best_chance,
        rating.match_count,
    )


def history_plot(history: RatingHistory) -> Plot | None:
    """Return the chart of an agent's rating, its interval and its versions; None for fewer than two points."""
    points = history.points
    if len(points) < 2:
        return None
    first, last = points[0], points[-1]
    begin = first.at.timestamp()
    values = [point.value for point in points]
    return Plot(
        summary=f"Rating over time, in {len(points)} points: {short(round(first.value))} at first, "
        f"{short(round(last.value))} at last, between {short(round(min(values)))} and {short(round(max(values)))}.",
        x=Axis("", "time"),
        y=Axis("Rating"),
        xs=[point.at.timestamp() for point in points],
        lines=(PlotLine("rating", [round(value) for value in values]),),
        spans=(
            Span(
                "95% interval",
                [None if point.low is None else round(point.low) for point in points],
                [None if point.high is None else round(point.high) for point in points],
            ),
        ),
        # Versions from before the first rating are drawn at the left edge.
        marks=tuple(Mark(max(begin, mark.at.timestamp()), f"v{mark.number}") for mark in history.versions),
    )
