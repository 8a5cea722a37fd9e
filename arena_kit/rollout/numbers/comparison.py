"""Compares two agents on the tasks that both have attempted, task by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arena_kit.ranking.paired import difference_interval
from arena_kit.ranking.scores import CONFIDENCE, Interval
from arena_kit.rollout.numbers.attempts import Counts

MOST_EXACT = 20
"""Tasks with a difference up to which all signs are tried; with more, a fixed number of random ones."""
FLIPS = 20_000
_SEED = 20_260_101
"""The seed is fixed, so that the same results always give the same figures."""
_AT_A_TIME = 2_000
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """The success rates of two agents at one task."""

    task: str
    first: float
    second: float

    @property
    def value(self) -> float:
        """By how much the first rate is higher."""
        return self.first - self.second


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much better the first agent is. difference: of mean success rates, from -1 to 1, with its 95% interval.

    p_value: the chance of a difference at least as large if the agents were equal. only_first, only_second: tasks that
    are left out, since the other agent has no attempt at them.
    """

    tasks: tuple[TaskDifference, ...]
    difference: Interval | None
    p_value: float
    only_first: int
    only_second: int

    @property
    def is_clear(self) -> bool:
        """Return whether the agents differ at a level of 5%."""
        return self.p_value <= 1 - CONFIDENCE


def compare(first: Mapping[str, Counts], second: Mapping[str, Counts]) -> Comparison:
    """Return the comparison of two agents by their attempts at each task."""
    one, other = ({task: counts for task, counts in each.items() if counts.attempts} for each in (first, second))
    both = sorted(one.keys() & other.keys())
    tasks = tuple(TaskDifference(task, one[task].rate, other[task].rate) for task in both)
    values = [task.value for task in tasks]
    return Comparison(
        tasks=tasks,
        difference=difference_interval(values) if values else None,
        p_value=sign_flip_p(values),
        only_first=len(one) - len(both),
        only_second=len(other) - len(both),
    )


def sign_flip_p(values: Sequence[float]) -> float:
    """Return the two-sided p-value of the sign-flip permutation test of a mean of zero.

    If the agents are equal, every difference could as well have the other sign. All signs are tried with up to
    MOST_EXACT differences that are not zero; with more, FLIPS random ones, of which the given one counts as one. With
    one attempt at each task this is McNemar's exact test. Sources: R. A. Fisher, The Design of Experiments, 1935,
    section 21; B. Phipson and G. K. Smyth, Permutation p-values should never be zero, 2010.
    """
    moved = np.asarray([value for value in values if value], dtype=float)
    if not len(moved):
        return 1.0
    limit = abs(float(moved.sum())) - _ROUNDING
    if len(moved) <= MOST_EXACT:
        sums = np.zeros(1)
        for value in moved:
            sums = np.concatenate((sums + value, sums - value))
        return float(np.mean(np.abs(sums) >= limit))
    generator, extreme = np.random.default_rng(_SEED), 0
    for _ in range(0, FLIPS, _AT_A_TIME):
        signs = generator.integers(0, 2, size=(_AT_A_TIME, len(moved)), dtype=np.int8) * 2.0 - 1.0
        extreme += int(np.sum(np.abs(signs @ moved) >= limit))
    return (extreme + 1) / (FLIPS + 1)
