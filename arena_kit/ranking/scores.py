"""Summaries of many scores: means with intervals, robust means, differences on common seeds, shares of points. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

RESAMPLES = 2000
CONFIDENCE = 0.95
_SEED = 20_260_101
"""The seed of the resampling is fixed, so that the same scores always give the same interval."""

MOST_BINS = 30
_DRAWN = 1_000_000
"""How many values are drawn at a time, which bounds memory."""
_KEPT_VALUES = 1000
"""Resamples of up to this many values are cached, because a page of a board asks for many of the same count."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the 95% interval around it."""

    value: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Return whether zero lies outside the interval."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """The figures of an evaluation on a board."""

    mean: Interval
    interquartile_mean: float
    median: float
    worst_decile: float


def summarise_scores(scores: Sequence[float]) -> ScoreSummary:
    """Summarise one finite score per episode; there must be at least one.

    mean: percentile bootstrap over episodes (Efron 1979), 2,000 resamples with a fixed seed. interquartile_mean: mean
    without the best and the worst quarter, as Agarwal et al. 2021 recommend (rliable). worst_decile: mean of the worst
    tenth, but at least one episode (conditional value at risk).
    """
    ordered = np.sort(np.asarray(scores, dtype=float))
    return ScoreSummary(
        mean=mean_interval(scores),
        interquartile_mean=interquartile_mean(ordered),
        median=float(np.median(ordered)),
        worst_decile=float(ordered[: math.ceil(len(ordered) / 10)].mean()),
    )


def interquartile_mean(ordered: np.ndarray) -> float:
    """Mean of the middle half of ascending values; a value on the border of a quarter counts in part."""
    count = len(ordered)
    # Value i covers the range from i to i + 1; the middle half goes from a quarter to three quarters of `count`.
    edges = np.arange(count + 1)
    covered = np.clip(np.minimum(edges[1:], 0.75 * count) - np.maximum(edges[:-1], 0.25 * count), 0.0, None)
    return float((ordered * covered).sum() / covered.sum())


def mean_interval(scores: Sequence[float]) -> Interval:
    """Mean and its 95% interval by percentile bootstrap."""
    values = np.asarray(scores, dtype=float)
    blocks = _kept(len(values)) if len(values) <= _KEPT_VALUES else _resampled(len(values))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(np.concatenate([values[rows].mean(axis=1) for rows in blocks]), (tail, 1 - tail))
    mean = float(values.mean())
    # Rounding could put the mean of equal scores outside the interval.
    return Interval(mean, min(float(low), mean), max(float(high), mean))


def _resampled(count: int) -> Iterator[np.ndarray]:
    """The indices, out of `count`, that each resample takes: a row per resample, in blocks."""
    generator, step = np.random.default_rng(_SEED), max(1, _DRAWN // count)
    for begun in range(0, RESAMPLES, step):
        yield generator.integers(0, count, size=(min(step, RESAMPLES - begun), count), dtype=np.uint32)


@lru_cache(maxsize=2)
def _kept(count: int) -> tuple[np.ndarray, ...]:
    return tuple(_resampled(count))


def paired_difference(scores: Sequence[float], others: Sequence[float]) -> Interval:
    """Mean of the differences between two evaluations on the same seeds, episode by episode, with its interval.

    Raises ValueError when the lengths differ.
    """
    if len(scores) != len(others):
        raise ValueError("Both evaluations must have the same number of episodes.")
    return mean_interval(np.subtract(scores, others).tolist())


def share_interval(points: float, count: int) -> Interval | None:
    """The won share of `count` matches (a win 1, a draw 1/2) with its `wilson` interval; None without matches.

    Matches are taken to be independent of each other.
    """
    if not count:
        return None
    low, high = wilson(np.asarray(float(points)), np.asarray(float(count)))
    return Interval(points / count, float(low), float(high))


def wilson(points: np.ndarray, matches: np.ndarray, level: float = CONFIDENCE) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end of the interval around each share of matches, arrays of one shape; 0 and 1 without matches.

    Draws vary less than wins and losses, so with draws the interval is slightly too wide. Source: E. B. Wilson,
    Probable inference, the law of succession, and statistical inference, 1927.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    counted = np.maximum(matches, 1e-12)
    share = points / counted
    middle = (share + z**2 / (2 * counted)) / (1 + z**2 / counted)
    margin = z * np.sqrt(np.maximum(share * (1 - share), 0) / counted + z**2 / (4 * counted**2)) / (1 + z**2 / counted)
    some = matches > 0
    return np.where(some, np.maximum(middle - margin, 0), 0.0), np.where(some, np.minimum(middle + margin, 1), 1.0)


def as_equal(low: float, high: float) -> bool:
    """Return whether two values are equal except for rounding."""
    return high - low <= 1e-12 * max(1.0, abs(low), abs(high))


def bin_edges(values: Sequence[float]) -> np.ndarray:
    """Edges of equal bins over all values: about the square root of their number, at most MOST_BINS."""
    low, high = min(values), max(values)
    if as_equal(low, high):
        half = max(abs(low) * 0.05, 0.5)
        return np.asarray([low - half, low + half])
    return np.linspace(low, high, min(MOST_BINS, max(5, math.ceil(math.sqrt(len(values)) * 1.5))) + 1)
