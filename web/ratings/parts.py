"""Ratings as the table of an edition and the page of an agent show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from core.models import Participant, RatingPoint
from core.ratings.history import RatingHistory
from web.evaluations.charts import short
from web.evaluations.whiskers import Whisker, whiskers
from web.site.plots import Axis, Line, Mark, Plot, Span


@dataclass(frozen=True, slots=True)
class RatingView:
    """A rating with its place on the scale that all rows share.

    low, high: None where a rating of an old edition has no interval. Those after them: None where it is one of an old
    edition, ranks also where it has none. is_fitted: False where Elo stands in until the first fit.
    """

    value: float
    low: float | None
    high: float | None
    best_rank: int | None = None
    worst_rank: int | None = None
    best_chance: float | None = None
    match_count: int | None = None
    whisker: Whisker | None = None
    is_fitted: bool = True


def with_ratings(
    participants: Iterable[Participant], *, is_newest: bool
) -> list[tuple[Participant, RatingView | None]]:
    """Rows of a table with what is shown of their ratings.

    In the newest edition that is how they stand now, in an earlier one how they stood when it ended: nothing is shown
    where nothing was kept, as of an edition that was cancelled.
    """
    rows = list(participants)
    views = _on_one_scale([_current(row) if is_newest else _kept(row) for row in rows])
    return list(zip(rows, views, strict=True))


def past_ratings(points: Iterable[RatingPoint]) -> list[tuple[RatingPoint, RatingView]]:
    """Rows of a leaderboard of the past with what is shown of their ratings."""
    rows = list(points)
    views = _on_one_scale([RatingView(row.value, row.low, row.high, row.best_rank, row.worst_rank) for row in rows])
    return [(row, view) for row, view in zip(rows, views, strict=True) if view is not None]


def _on_one_scale(views: Sequence[RatingView | None]) -> list[RatingView | None]:
    """The same, each that has an interval with its place on the scale that all share."""
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
    if rating is None:
        return None
    if not rating.is_fitted:
        return RatingView(rating.value, None, None, is_fitted=False)
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
    """How an agent's rating went, with its interval and where versions began; None where there is no line to draw."""
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
        lines=(Line("rating", [round(value) for value in values]),),
        spans=(
            Span(
                "95% interval",
                [None if point.low is None else round(point.low) for point in points],
                [None if point.high is None else round(point.high) for point in points],
            ),
        ),
        # What was uploaded before there was a rating stands at the begin.
        marks=tuple(Mark(max(begin, mark.at.timestamp()), f"v{mark.number}") for mark in history.versions),
    )
