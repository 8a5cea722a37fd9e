"""Success in k attempts, of one task and of a set of tasks, with intervals that take tasks as clusters.

For a task with n attempts of which c were solved, pass@k is the chance that at least one of k attempts drawn from them
is solved, pass^k that all of them are:

    pass@k = 1 - C(n - c, k) / C(n, k)        pass^k = C(c, k) / C(n, k)

Both are unbiased for the task's own chances 1 - (1 - p)^k and p^k, and undefined for k > n.
Sources: M. Chen et al., Evaluating large language models trained on code, arXiv 2107.03374, equation 1; S. Yao et al.,
tau-bench, arXiv 2406.12045, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from arena_kit.ranking.scores import CONFIDENCE, Interval, share_interval

_UPPER = (1 + CONFIDENCE) / 2


class Measure(StrEnum):
    """The question that k attempts answer."""

    ANY = "pass@k"
    ALL = "pass^k"


@dataclass(frozen=True, slots=True)
class Counts:
    """The attempts of one agent at one task that count: those that the platform has spoilt do not."""

    attempts: int
    solved: int

    def __post_init__(self) -> None:
        if not 0 <= self.solved <= self.attempts:
            raise ValueError(f"{self.solved} of {self.attempts} attempts cannot be solved.")

    @property
    def rate(self) -> float:
        """The share of attempts that were solved; there must be one."""
        return self.solved / self.attempts


@dataclass(frozen=True, slots=True)
class SetFigure:
    """A figure of a set of tasks. value: None if no task has enough attempts. left_out: tasks that have too few."""

    value: float | None
    interval: Interval | None
    tasks: int
    left_out: int


def pass_at_k(counts: Counts, k: int) -> float | None:
    """Return the chance that at least one of k attempts is solved, or None if there are fewer than k."""
    failed = counts.attempts - counts.solved
    return None if _too_few(counts, k) else 1 - math.comb(failed, k) / math.comb(counts.attempts, k)


def pass_all_k(counts: Counts, k: int) -> float | None:
    """Return the chance that all of k attempts are solved (pass^k), or None if there are fewer than k."""
    return None if _too_few(counts, k) else math.comb(counts.solved, k) / math.comb(counts.attempts, k)


def set_figure(tasks: Mapping[str, Counts], k: int = 1, measure: Measure = Measure.ANY) -> SetFigure:
    """Return the mean over the tasks that have at least k attempts, with its 95% interval."""
    of_task = pass_at_k if measure is Measure.ANY else pass_all_k
    known = [(counts, of_task(counts, k)) for counts in tasks.values()]
    values = [value for _, value in known if value is not None]
    if not values:
        return SetFigure(None, None, 0, len(known))
    counted = [counts for counts, value in known if value is not None]
    if len(values) > 1:
        interval: Interval | None = clustered_interval(values, sum(each.attempts for each in counted))
    else:
        interval = share_interval(counted[0].solved, counted[0].attempts) if k == 1 else None
    return SetFigure(float(np.mean(values)), interval, len(values), len(known) - len(values))


def clustered_interval(values: list[float], attempts: int) -> Interval:
    """Return the mean of at least two task values from 0 to 1, and its 95% interval for tasks like these.

    attempts: of all tasks together. Wilson's interval with an effective number of attempts n = m (1 - m) / s^2, where
    m is the mean and s^2 its variance estimated between tasks, at most the attempts there are, and with Student's t for
    as many tasks. With all values equal to 0 or 1 the tasks are the attempts. Attempts at one task are alike, so
    counting them as independent would make the interval too narrow; a bootstrap over tasks, or Student's t around the
    mean, holds the truth too seldom with few tasks or rare successes (`python -m benchmarks.rollouts`).

    Sources: E. L. Korn and B. I. Graubard, Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data, Survey Methodology 24, 1998; N. Dean and M. Pagano, Evaluating confidence
    interval methods for binomial proportions in clustered surveys, J. Survey Statistics and Methodology 3, 2015.
    """
    count, mean = len(values), float(np.mean(values))
    variance = float(np.var(values, ddof=1)) / count
    inner = mean * (1 - mean)
    effective = count if inner <= 0 else attempts if inner >= attempts * variance else inner / variance
    # Every process of a site imports this module, few compute with it, and SciPy takes a third of a second to load.
    from scipy.special import stdtrit

    z = float(stdtrit(count - 1, _UPPER))
    middle = (mean + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z * math.sqrt(inner / effective + z * z / (4 * effective * effective)) / (1 + z * z / effective)
    return Interval(mean, min(mean, max(0.0, middle - half)), max(mean, min(1.0, middle + half)))


def _too_few(counts: Counts, k: int) -> bool:
    if k < 1:
        raise ValueError(f"k counts attempts, from 1 on; it is {k}.")
    return k > counts.attempts
