"""What is said of many scores, against formulas written another way."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.ranking import scores
from arena_kit.ranking.scores import interquartile_mean, mean_interval, paired_difference, summarise_scores

FINITE = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)


def close_to(value: float) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # Divisible by 4: what `scipy.stats.trim_mean(values, 0.25)` gives.
        ([1.0, 2.0, 3.0, 100.0], 2.5),
        ([-50.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 900.0], 3.5),
        ([0.0] * 3 + [1.0] * 6 + [9.0] * 3, 1.0),
        # Not divisible: those on the border count in part, by hand. scipy would leave out or take in the whole of them.
        ([7.0], 7.0),
        ([1.0, 3.0], 2.0),
        ([0.0, 4.0, 20.0], (0.25 * 0.0 + 4.0 + 0.25 * 20.0) / 1.5),
        ([-100.0, 1.0, 2.0, 4.0, 100.0], (0.75 * 1.0 + 2.0 + 0.75 * 4.0) / 2.5),
        ([-100.0, 1.0, 2.0, 4.0, 9.0, 100.0], (0.5 * 1.0 + 2.0 + 4.0 + 0.5 * 9.0) / 3.0),
    ],
)
def test_the_interquartile_mean_is_that_of_the_middle_half(values: list[float], expected: float) -> None:
    assert interquartile_mean(np.array(values)) == pytest.approx(expected, rel=1e-12)


@given(FINITE)
def test_the_interquartile_mean_is_the_trimmed_mean_of_every_value_taken_four_times(values: list[float]) -> None:
    fourfold = sorted(values * 4)
    middle = fourfold[len(values) : 3 * len(values)]

    assert interquartile_mean(np.sort(values)) == close_to(statistics.fmean(middle))


@given(FINITE)
def test_a_summary_agrees_with_the_formulas_of_the_standard_library(values: list[float]) -> None:
    summary = summarise_scores(values)

    assert summary.mean.value == close_to(statistics.fmean(values))
    assert summary.median == close_to(statistics.median(values))
    worst = sorted(values)[: math.ceil(len(values) / 10)]
    assert summary.worst_decile == close_to(statistics.fmean(worst))
    assert summary.mean.low <= summary.mean.value <= summary.mean.high


def test_equal_scores_and_a_single_one_leave_no_doubt() -> None:
    for values in ([0.1] * 7, [1 / 3] * 100, [42.0]):
        summary = summarise_scores(values)
        assert summary.mean.high - summary.mean.low == pytest.approx(0.0, abs=1e-12)
        assert summary.mean.low <= summary.mean.value <= summary.mean.high
        for value in (summary.interquartile_mean, summary.median, summary.worst_decile):
            assert value == pytest.approx(values[0])


def test_the_same_scores_give_the_same_interval() -> None:
    values = [float(number**2) for number in range(30)]

    assert mean_interval(values) == mean_interval(list(values))


def test_the_interval_is_about_as_wide_as_that_of_students_t() -> None:
    values = np.random.default_rng(3).normal(100.0, 15.0, size=200).tolist()

    found = mean_interval(values)

    error = 1.972 * statistics.stdev(values) / math.sqrt(200)
    assert found.high - found.low == pytest.approx(2 * error, rel=0.06)
    assert (found.high + found.low) / 2 == pytest.approx(statistics.fmean(values), abs=error / 5)


def test_ninety_five_of_a_hundred_intervals_hold_the_true_mean() -> None:
    generator = np.random.default_rng(7)
    draws = [generator.normal(5.0, 2.0, size=100).tolist() for _ in range(400)]

    held = sum(found.low <= 5.0 <= found.high for found in map(mean_interval, draws))

    # A percentile bootstrap of 100 values covers slightly less than 95%; three standard errors of 400 draws are 3.3%.
    assert 0.91 <= held / len(draws) <= 0.98


def test_many_episodes_are_drawn_in_pieces_that_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).exponential(size=50).tolist()
    at_once = mean_interval(values)

    monkeypatch.setattr(scores, "_DRAWN", 700)

    assert mean_interval(values) == at_once


def test_a_paired_difference_sees_what_two_intervals_hide() -> None:
    seeds = np.random.default_rng(5).normal(0.0, 100.0, size=100)
    weaker, better = seeds.tolist(), (seeds + 1.0 + np.tile([0.5, -0.5], 50)).tolist()

    difference = paired_difference(better, weaker)

    assert difference.value == pytest.approx(1.0)
    assert difference.is_clear
    assert paired_difference(weaker, better).high < 0
    assert mean_interval(better).low < mean_interval(weaker).high
    assert not paired_difference(weaker, weaker).is_clear


def test_a_paired_difference_needs_common_seeds() -> None:
    with pytest.raises(ValueError, match="same number of episodes"):
        paired_difference([1.0, 2.0], [1.0])
