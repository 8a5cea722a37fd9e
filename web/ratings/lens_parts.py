"""Parts of the pages head to head and calibration: shades of the matrix, and the chart of predictions."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict

from core.models import Rating
from core.ratings.lens_selectors import CalibrationView
from core.ratings.pairs import SIZES, Matrix, OpponentTotal
from web.site.plots import Axis, Plot, PlotLine, Span

STEPS = range(9)
"""Shades of a cell, from none to all of the matches; the middle one contains one half."""
USUAL_SIZE = 20


@dataclass(frozen=True, slots=True)
class Cell:
    """The result of a row against a column. total: None if they have not met. step: the shade."""

    total: OpponentTotal | None
    is_self: bool

    @property
    def step(self) -> int:
        return 0 if self.total is None else min(int(self.total.share * len(STEPS)), len(STEPS) - 1)

    @property
    def percent(self) -> int:
        """The share in percent. Only exact shares of 0 and 1 round to 0 and 100."""
        share = 0.0 if self.total is None else self.total.share
        return round(100 * share) if share in (0, 1) else min(99, max(1, round(100 * share)))


@dataclass(frozen=True, slots=True)
class HeatRow:
    rating: Rating
    cells: tuple[Cell, ...]


def asked_size(query: QueryDict) -> int:
    """Return N of ?top=N, or the usual size if N is not one of the sizes offered."""
    word = query.get("top", "")
    return int(word) if word in map(str, SIZES) else USUAL_SIZE


def heat_rows(matrix: Matrix) -> list[HeatRow]:
    return [
        HeatRow(rating, tuple(Cell(total, row == column) for column, total in enumerate(totals)))
        for row, (rating, totals) in enumerate(zip(matrix.ratings, matrix.cells, strict=True))
    ]


def reliability_plot(found: CalibrationView) -> Plot:
    """Return the chart of actual shares over expected shares, with their intervals."""
    bins = found.bins
    told = [f"{one.expected:.0%} expected, {one.happened:.0%} actual" for one in bins]
    return Plot(
        summary=f"Actual and expected share of the matches in {len(bins)} groups: {'; '.join(told)}.",
        x=Axis("Expected share of the matches", "share", 0.48, 1.02),
        y=Axis("Actual share of the matches", "share", min(0.48, *(one.lower - 0.02 for one in bins)), 1.02),
        xs=[one.expected for one in bins],
        lines=(PlotLine("actual share", [one.happened for one in bins], look="dots"),),
        spans=(Span("95% interval", [one.lower for one in bins], [one.upper for one in bins], look="bars"),),
        diagonal=True,
    )
