"""Who beats whom and whether predictions came true, as it was computed with the ratings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.models import Environment, Lens, Rating


@dataclass(frozen=True, slots=True)
class NashRow:
    """One of the ranking by Nash averaging, with its official rating beside it.

    skill: points of Elo against the mixture that nobody beats, 0 in it. weight: share of that mixture, 0 to 1.
    """

    rating: Rating
    rank: int
    skill: float
    weight: float

    @property
    def percent(self) -> float:
        """Its share of the mixture, 0 to 100."""
        return round(100 * self.weight, 1)


@dataclass(frozen=True, slots=True)
class Beating:
    """One step of a circle: `winner` takes `share` of the points from `loser`, and `lower` at the least."""

    winner: Rating
    loser: Rating
    share: float
    lower: float
    matches: int


@dataclass(frozen=True, slots=True)
class LensView:
    """What was found of an environment. cycles: the clearest of cycle_count."""

    nash: tuple[NashRow, ...]
    cycles: tuple[tuple[Beating, ...], ...]
    cycle_count: int
    pair_count: int
    clear_count: int
    computed_at: datetime


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Predictions between `low` and `high`: what was expected and what happened, per match, with its 95% interval."""

    low: float
    high: float
    pairs: int
    duels: int
    matches: int
    expected: float
    happened: float
    lower: float
    upper: float

    @property
    def is_calibrated(self) -> bool:
        """Whether what was expected lies within the interval of what happened."""
        return self.lower <= self.expected <= self.upper


@dataclass(frozen=True, slots=True)
class CalibrationView:
    """How predictions of an environment did. brier: 0 is perfect; even: the same had one half been said of all."""

    duels: int
    matches: int
    brier: float
    even: float
    bins: tuple[CalibrationBin, ...]
    computed_at: datetime


def lens_get(environment: Environment) -> LensView | None:
    """Who beats whom; None before the first fit. Who has no rating any more is left out."""
    row = Lens.objects.filter(environment=environment).first()
    if row is None:
        return None
    keys = {found["submission"] for found in row.nash}
    rated = Rating.objects.filter(submission__in=keys).select_related("submission__agent__owner")
    ratings = {rating.submission_id: rating for rating in rated}
    return LensView(
        nash=tuple(
            NashRow(ratings[found["submission"]], found["rank"], found["skill"], found["weight"])
            for found in row.nash
            if found["submission"] in ratings
        ),
        cycles=tuple(
            tuple(_beating(step, ratings) for step in found)
            for found in row.cycles
            if all(step["winner"] in ratings for step in found)
        ),
        cycle_count=row.cycle_count,
        pair_count=row.pair_count,
        clear_count=row.clear_count,
        computed_at=row.computed_at,
    )


def calibration_get(environment: Environment) -> CalibrationView | None:
    """How predictions did; None while none has been put to the test."""
    row = Lens.objects.filter(environment=environment).first()
    if row is None or row.calibration is None:
        return None
    found = dict(row.calibration)
    bins = tuple(CalibrationBin(**values) for values in found.pop("bins"))
    return CalibrationView(**found, bins=bins, computed_at=row.computed_at)


def _beating(step: dict[str, Any], ratings: dict[int, Rating]) -> Beating:
    return Beating(ratings[step["winner"]], ratings[step["loser"]], step["share"], step["lower"], step["matches"])
