"""What the scores of many episodes say: mean with its interval, robust means, and differences on common seeds. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

RESAMPLES = 2000
CONFIDENCE = 0.95
_SEED = 20_260_101
"""Of the resampling: the same scores give the same interval, today and when anybody computes them again."""

_DRAWN = 1_000_000
"""Values drawn at a time."""


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
    count = len(values)
    blocks = [_kept_resamples(count)] if count * RESAMPLES <= _DRAWN else _resamples(count)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(np.concatenate([values[block].mean(axis=1) for block in blocks]), (tail, 1 - tail))
    mean = float(values.mean())
    # Rounding must not put the mean of equal scores outside.
    return Interval(mean, min(float(low), mean), max(float(high), mean))


def _resamples(count: int) -> Iterator[np.ndarray]:
    """Which values each resample of `count` takes, one row each; as many at a time as fit into little memory."""
    generator, step = np.random.default_rng(_SEED), max(1, _DRAWN // count)
    for begun in range(0, RESAMPLES, step):
        yield generator.integers(0, count, size=(min(step, RESAMPLES - begun), count))


@lru_cache(maxsize=2)
def _kept_resamples(count: int) -> np.ndarray:
    """All of them, for few values: a page of a board asks for the same ones again and again."""
    (block,) = _resamples(count)
    return block


def paired_difference(scores: Sequence[float], others: Sequence[float]) -> Interval:
    """Mean of the differences between two evaluations on the same seeds, episode by episode, with its interval.

    Raises ValueError when they are not of equal length.
    """
    if len(scores) != len(others):
        raise ValueError("Both evaluations must have the same number of episodes.")
    return mean_interval(np.subtract(scores, others).tolist())
