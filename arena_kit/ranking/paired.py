"""Compares two players by what both have met: the same rivals and openings in duels, the same seeds in evaluations.

The unit of duels is a start: the seed and opening of a seat-swapped pair of matches. Pairs that begin alike depend on
each other, also between other players, and so do matches that merely repeat each other; each start counts once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from arena_kit.older import StrEnum
from arena_kit.ranking.scores import CONFIDENCE, Interval, paired_difference

POWER = 0.8
"""The chance that as many results as are asked for show a difference of the size seen."""
MOST_TIMES = 100
"""If proving a difference would take more than this many times the present results, no number is given."""


class Verdict(StrEnum):
    """Which of two is better: zero lies outside the 95% interval of their difference."""

    FIRST = "first"
    SECOND = "second"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two matches with swapped seats, seen from one player.

    rival: whom it met. start: the same for all pairs that begin alike or repeat each other. points: the player's share
    of the matches, 0 to 1.
    """

    rival: Hashable
    start: Hashable
    points: float


@dataclass(frozen=True, slots=True)
class Paired:
    """How much better the first of two is.

    first, second: their mean results. difference: the first's less the second's, with its 95% interval. units: starts
    or seeds that were counted. results: matches, those of both together, or episodes of each. more: about how many
    more results would show a difference of the size seen; None where one is shown, where there is none, and where it
    would take more than MOST_TIMES as many as there are.
    """

    first: float
    second: float
    difference: Interval
    units: int
    results: int
    more: int | None

    @property
    def verdict(self) -> Verdict:
        if not self.difference.is_clear:
            return Verdict.OPEN
        return Verdict.FIRST if self.difference.value > 0 else Verdict.SECOND


def against_same(first: Iterable[Pair], second: Iterable[Pair]) -> Paired | None:
    """Compare two players by their pairs against the rivals that both have met; None without such a rival.

    The difference is the mean over rivals of the differences between the players' shares of the matches. Each rival
    weighs nm / (n + m) for n and m pairs, as in the test of Mantel and Haenszel. Its variance is that of sums over
    starts: what both players, or several rivals, have met from one start is one observation, so that common openings
    cancel out. It holds for these rivals; that other ones might give another difference is not part of it.

    Sources: N. Mantel and W. Haenszel, Statistical aspects of the analysis of data from retrospective studies of
    disease, 1959 (weights); K.-Y. Liang and S. L. Zeger, Longitudinal data analysis using generalized linear models,
    1986 (variance of clusters); E. Miller, Adding error bars to evals, arXiv 2411.00640, sections 2.2 and 4 (both for
    comparisons of models); `difference_interval` for the interval.
    """
    met = [_by_rival(first), _by_rival(second)]
    rivals = sorted(met[0].keys() & met[1].keys(), key=repr)
    if not rivals:
        return None
    weights = {rival: 1 / sum(1 / len(side[rival]) for side in met) for rival in rivals}
    total = sum(weights.values())
    means, moves = [0.0, 0.0], defaultdict[Hashable, float](float)
    for place, side in enumerate(met):
        for rival in rivals:
            pairs, weight = side[rival], weights[rival] / total
            mean, starts = sum(pair.points for pair in pairs) / len(pairs), len({pair.start for pair in pairs})
            means[place] += weight * mean
            # Residuals around an estimated mean are too small; with one start they are zero.
            grown = math.sqrt(starts / (starts - 1)) if starts > 1 else 0.0
            for pair in pairs:
                moves[pair.start] += (1 - 2 * place) * weight * grown * (pair.points - mean) / len(pairs)
    values = [means[0] - means[1] + len(moves) * move for move in moves.values()]
    return _paired(means, values, results=2 * sum(len(side[rival]) for side in met for rival in rivals))


def against_each_other(pairs: Sequence[Pair]) -> Paired | None:
    """Compare two players by their own duels; pairs: seen from the first. None without pairs.

    The interval is that of `difference_interval` over starts, each with the mean of its pairs, as in `against_same`.
    """
    by_start: dict[Hashable, list[float]] = {}
    for pair in pairs:
        by_start.setdefault(pair.start, []).append(pair.points)
    if not by_start:
        return None
    mean = sum(pair.points for pair in pairs) / len(pairs)
    share = len(by_start) / len(pairs)
    values = [2 * mean - 1 + 2 * share * sum(one - mean for one in points) for points in by_start.values()]
    return _paired((mean, 1 - mean), values, results=2 * len(pairs))


def on_same_seeds(scores: Sequence[float], others: Sequence[float]) -> Paired:
    """Compare two evaluations on the same seeds, episode by episode, as `paired_difference` does.

    Raises ValueError when the lengths differ, or without an episode.
    """
    difference = paired_difference(scores, others)
    values = np.subtract(scores, others).tolist()
    means = (float(np.mean(scores)), float(np.mean(others)))
    return _paired(means, values, results=len(values), difference=difference)


def difference_interval(values: Sequence[float]) -> Interval:
    """Return the mean of the differences and its 95% interval by Student's t over units, within -1 and 1.

    units: of what both have met, e.g. tasks or starts. Half a unit in favour of each side, by the largest difference
    there is, and a whole one without a difference are counted besides, which keeps the interval honest where few units
    or none differ. Sources: E. Miller, Adding error bars to evals, arXiv 2411.00640, section 4 (paired differences by
    question); A. Agresti and Y. Min, Simple improved confidence intervals for comparing matched proportions,
    Statistics in Medicine 24, 2005 (half a pair in each cell).
    """
    count, mean = len(values), float(np.mean(values))
    largest = max(map(abs, values)) or 1.0
    squares = float(np.sum(np.square(np.asarray(values) - mean))) + largest**2
    padded = count + 2
    # Every process of a site imports this module, few compute with it, and SciPy takes a third of a second to load.
    from scipy.special import stdtrit

    half = float(stdtrit(padded - 1, (1 + CONFIDENCE) / 2)) * math.sqrt(squares / (padded - 1) / padded)
    middle = mean * count / padded
    return Interval(mean, min(mean, max(-1.0, middle - half)), max(mean, min(1.0, middle + half)))


def _paired(
    means: Sequence[float], values: Sequence[float], *, results: int, difference: Interval | None = None
) -> Paired:
    """Return the comparison of these differences by unit. difference: their mean, where it has another interval."""
    interval = difference or difference_interval(values)
    return Paired(
        first=float(means[0]),
        second=float(means[1]),
        difference=interval,
        units=len(values),
        results=results,
        more=None if interval.is_clear else _more(values, results),
    )


def _more(values: Sequence[float], results: int) -> int | None:
    """Return how many more results show a mean as large as that of these differences, with a probability of POWER.

    The spread counts a unit of the largest difference besides, so that few units that agree do not promise too much.
    Source: E. Miller, arXiv 2411.00640, section 5 (sample size of paired questions).
    """
    mean = float(np.mean(values))
    if not mean:
        return None
    spread = math.sqrt(float(np.sum(np.square(np.subtract(values, mean))) + np.square(values).max()) / len(values))
    factor = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) + NormalDist().inv_cdf(POWER)
    times = (factor * spread / mean) ** 2 / len(values)
    return max(1, math.ceil((times - 1) * results)) if times <= MOST_TIMES else None


def _by_rival(pairs: Iterable[Pair]) -> dict[Hashable, list[Pair]]:
    found: dict[Hashable, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair.rival, []).append(pair)
    return found
