"""Whiskers of boards: values with their intervals on one scale that all rows share. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.ranking.scores import as_equal


@dataclass(frozen=True, slots=True)
class WhiskerScale:
    """A map from low..high to per cent of a whisker's width, with a margin at both ends; low < high."""

    low: float
    high: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(3 + 94 * min(1.0, max(0.0, share)), 2)


@dataclass(frozen=True, slots=True)
class Whisker:
    """A value with its interval on a scale that all rows of a board share, in per cent of its width."""

    low: float
    value: float
    high: float


def scale_of(values: Sequence[float]) -> WhiskerScale:
    """Return a scale that fits all values with a margin at both ends; equal values are in the middle."""
    low, high = min(values), max(values)
    margin = max(abs(high) * 0.5, 0.5) if as_equal(low, high) else (high - low) * 0.06
    return WhiskerScale(low - margin, high + margin)


def whiskers(
    rows: Sequence[tuple[float, float, float]], *marks: float, scaled_by: Sequence[bool] = ()
) -> tuple[list[Whisker | None], list[float]]:
    """Place means with their intervals (low, value, high), and single marks, on one scale in per cent.

    scaled_by: rows that set the scale; if none do, all rows set it. A row that does not fit on the scale gets None: a
    script can print any number, which must not squeeze the other rows into a point.
    """
    if not rows:
        return [], []
    making = [row for row, makes in zip(rows, scaled_by, strict=False) if makes] or rows
    scale = scale_of([*(value for row in making for value in row), *marks])
    if not math.isfinite(scale.high - scale.low):
        return [None] * len(rows), []
    placed = [
        Whisker(scale(low), scale(value), scale(high)) if scale.low <= low and high <= scale.high else None
        for low, value, high in rows
    ]
    return placed, [scale(mark) for mark in marks]
