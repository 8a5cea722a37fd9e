"""Reads a stored lens: who beats whom, and whether predictions came true."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from arena_kit.ranking import lenses
from arena_kit.ranking.calibration import Bin, Calibration
from arena_kit.ranking.nash import NashStanding
from core.models import Environment, Lens, Rating


@dataclass(frozen=True, slots=True)
class NashRow(NashStanding):
    """A row of the ranking by Nash averaging, with the submission's official rating."""

    rating: Rating

    @property
    def percent(self) -> float:
        """The share of the mixture, 0 to 100."""
        return round(100 * self.weight, 1)


@dataclass(frozen=True, slots=True)
class Beating:
    """One step of a cycle, with the ratings of both."""

    result: lenses.Beating
    winner: Rating
    loser: Rating


@dataclass(frozen=True, slots=True)
class LensView:
    """Who beats whom in an environment. cycles: the clearest of cycle_count."""

    nash: tuple[NashRow, ...]
    cycles: tuple[tuple[Beating, ...], ...]
    cycle_count: int
    pair_count: int
    clear_count: int
    computed_at: datetime


@dataclass(frozen=True, slots=True)
class CalibrationView(Calibration):
    """How predictions of an environment compare with results, as of `computed_at`."""

    computed_at: datetime


def lens_get(environment: Environment) -> LensView | None:
    """Who beats whom; None before the first fit. Submissions that no longer have a rating are left out."""
    row = Lens.objects.filter(environment=environment).first()
    if row is None:
        return None
    keys = {found["submission"] for found in row.nash}
    rated = Rating.objects.filter(submission__in=keys).select_related("submission__agent__owner")
    ratings = {rating.submission_id: rating for rating in rated}
    cycles = [[lenses.Beating(**step) for step in steps] for steps in row.cycles]
    return LensView(
        nash=tuple(
            NashRow(**found, rating=ratings[found["submission"]])
            for found in row.nash
            if found["submission"] in ratings
        ),
        cycles=tuple(
            tuple(Beating(step, ratings[step.winner], ratings[step.loser]) for step in steps)
            for steps in cycles
            if all(step.winner in ratings for step in steps)
        ),
        cycle_count=row.cycle_count,
        pair_count=row.pair_count,
        clear_count=row.clear_count,
        computed_at=row.computed_at,
    )


def calibration_get(environment: Environment) -> CalibrationView | None:
    """How predictions compare with results; None while no duel with a prediction has been played."""
    row = Lens.objects.filter(environment=environment).first()
    if row is None or row.calibration is None:
        return None
    bins = tuple(Bin(**values) for values in row.calibration["bins"])
    return CalibrationView(**{**row.calibration, "bins": bins}, computed_at=row.computed_at)
