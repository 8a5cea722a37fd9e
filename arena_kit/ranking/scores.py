"""What the scores of many episodes say: mean with its interval, robust means, and differences on common seeds. Pure."""

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
"""Of the resampling: the same scores give the same interval, today and when anybody computes them again."""

MOST_BINS = 30
_DRAWN = 1_000_000
"""Values drawn at a time, so that they fit into little memory."""
_KEPT_VALUES = 1000
"""Resamples of so many values are kept: a page of a board asks for many of one count."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the 95% interval around it."""

    value: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether zero lies outside."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """What a board shows of an evaluation."""

    mean: Interval
    interquartile_mean: float
    median: float
    worst_decile: float


def summarise_scores(scores: Sequence[float]) -> ScoreSummary:
    """Summarise one score an episode; there must be at least one, all finite.

    mean: percentile bootstrap over episodes (Efron 1979), 2,000 resamples with a fixed seed. interquartile_mean: mean
    without the best and the worst quarter, as Agarwal et al. 2021 recommend (rliable). worst_decile: mean of the worst
    tenth, at least of one episode (conditional value at risk).
    """
    ordered = np.sort(np.asarray(scores, dtype=float))
    return ScoreSummary(
        mean=mean_interval(scores),
        interquartile_mean=interquartile_mean(ordered),
        median=float(np.median(ordered)),
        worst_decile=float(ordered[: math.ceil(len(ordered) / 10)].mean()),
    )


def interquartile_mean(ordered: np.ndarray) -> float:
    """Mean of the middle half of ascending values; those on the border of a quarter count in part."""
    count = len(ordered)
    # Value i covers i to i+1 of `count`; the middle half goes from a quarter to three quarters.
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
    # Rounding must not put the mean of equal scores outside.
    return Interval(mean, min(float(low), mean), max(float(high), mean))


def _resampled(count: int) -> Iterator[np.ndarray]:
    """Which of `count` values each resample takes: one row each, in blocks."""
    generator, step = np.random.default_rng(_SEED), max(1, _DRAWN // count)
    for begun in range(0, RESAMPLES, step):
        yield generator.integers(0, count, size=(min(step, RESAMPLES - begun), count), dtype=np.uint32)


@lru_cache(maxsize=2)
def _kept(count: int) -> tuple[np.ndarray, ...]:
    return tuple(_resampled(count))


def paired_difference(scores: Sequence[float], others: Sequence[float]) -> Interval:
    """Mean of the differences between two evaluations on the same seeds, episode by episode, with its interval.

    Raises ValueError when they are not of equal length.
    """
    if len(scores) != len(others):
        raise ValueError("Both evaluations must have the same number of episodes.")
    return mean_interval(np.subtract(scores, others).tolist())


def share_interval(points: float, count: int) -> Interval | None:
    """A share of points among so many matches (a win 1, a draw 1/2) with its interval; None without matches.

    As if matches were independent of each other, and a little wide where there are draws. Source: E. B. Wilson,
    Probable inference, the law of succession, and statistical inference, 1927.
    """
    if not count:
        return None
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share, denominator = points / count, 1 + z * z / count
    middle = (share + z * z / (2 * count)) / denominator
    margin = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / denominator
    return Interval(share, max(0.0, middle - margin), min(1.0, middle + margin))


def as_equal(low: float, high: float) -> bool:
    """Whether nothing could be told apart between two values: they are equal but for rounding."""
    return high - low <= 1e-12 * max(1.0, abs(low), abs(high))


def bin_edges(values: Sequence[float]) -> np.ndarray:
    """Edges of equal bins over all values: about the square root of their number, at most MOST_BINS."""
    low, high = min(values), max(values)
    if as_equal(low, high):
        half = max(abs(low) * 0.05, 0.5)
        return np.asarray([low - half, low + half])
    return np.linspace(low, high, min(MOST_BINS, max(5, math.ceil(math.sqrt(len(values)) * 1.5))) + 1)
