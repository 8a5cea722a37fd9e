"""pass@k, pass^k, intervals, comparisons, summaries."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.ranking.paired import difference_interval
from arena_kit.rollout.numbers.attempts import (
    Counts,
    Measure,
    clustered_interval,
    pass_all_k,
    pass_at_k,
    set_figure,
)
from arena_kit.rollout.numbers.comparison import compare, sign_flip_p
from arena_kit.rollout.numbers.summary import (
    EndedAttempt,
    Often,
    counts_by_task,
    disagreements,
    how_often,
    only_by_oracle,
    summarise,
)

FIVE = Counts(5, 2)
COUNTS = st.integers(1, 12).flatmap(lambda n: st.builds(Counts, st.just(n), st.integers(0, n)))


def test_the_published_vector() -> None:
    assert [pass_at_k(FIVE, k) for k in range(1, 7)] == pytest.approx([0.4, 0.7, 0.9, 1, 1, None])
    assert [pass_all_k(FIVE, k) for k in range(1, 7)] == pytest.approx([0.4, 0.1, 0, 0, 0, None])


@given(COUNTS, st.integers(1, 12))
def test_both_are_the_shares_of_all_draws(counts: Counts, k: int) -> None:
    attempts = [True] * counts.solved + [False] * (counts.attempts - counts.solved)
    draws = list(itertools.combinations(attempts, k))
    if not draws:
        assert pass_at_k(counts, k) is pass_all_k(counts, k) is None
        return
    assert pass_at_k(counts, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_all_k(counts, k) == pytest.approx(sum(map(all, draws)) / len(draws))


@pytest.mark.parametrize(("n", "k", "p"), [(5, 3, 0.3), (8, 2, 0.9), (4, 4, 0.5)])
def test_both_are_unbiased(n: int, k: int, p: float) -> None:
    chances = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    any_, all_ = ([of(Counts(n, c), k) or 0.0 for c in range(n + 1)] for of in (pass_at_k, pass_all_k))
    assert np.dot(chances, any_) == pytest.approx(1 - (1 - p) ** k)
    assert np.dot(chances, all_) == pytest.approx(p**k)


@pytest.mark.parametrize(("attempts", "solved"), [(-1, 0), (2, 3), (2, -1)])
def test_counts_that_cannot_be_are_refused(attempts: int, solved: int) -> None:
    with pytest.raises(ValueError, match="cannot be solved"):
        Counts(attempts, solved)
    with pytest.raises(ValueError, match="from 1 on"):
        pass_at_k(FIVE, 0)


def test_tasks_with_too_few_attempts_are_left_out_and_counted() -> None:
    found = set_figure({"a": Counts(5, 2), "b": Counts(2, 2), "c": Counts(3, 3)}, 3, Measure.ALL)
    assert found.value == pytest.approx(0.5)
    assert (found.tasks, found.left_out) == (2, 1)
    assert set_figure({"a": Counts(0, 0)}).value is None
    assert set_figure({}).interval is None


def test_one_task_has_wilsons_interval_of_its_attempts() -> None:
    found = set_figure({"a": Counts(10, 4)})
    theirs = scipy.stats.binomtest(4, 10).proportion_ci(method="wilson")
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((theirs.low, theirs.high))
    assert set_figure({"a": Counts(10, 4)}, 2).interval is None


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=3), COUNTS, min_size=2, max_size=30), st.sampled_from(list(Measure)))
def test_an_interval_lies_around_its_value_and_within_bounds(tasks: dict[str, Counts], measure: Measure) -> None:
    found = set_figure(tasks, 1, measure)
    assert found.interval is not None
    assert found.value is not None
    assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1
    assert found.interval.low < found.interval.high


def test_with_many_tasks_the_interval_is_that_of_student() -> None:
    values = np.random.default_rng(3).beta(2, 3, 400).round(2).tolist()
    found, theirs = clustered_interval(values, 40_000), scipy.stats.ttest_1samp(values, 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=2e-3)


def test_attempts_at_one_task_are_alike_and_do_not_narrow_the_interval_as_tasks_do() -> None:
    few = {str(n): Counts(1, n % 2) for n in range(10)}
    more_attempts = {str(n): Counts(10, 10 * (n % 2)) for n in range(10)}
    more_tasks = {str(n): Counts(1, n % 2) for n in range(100)}
    widths = [
        found.high - found.low for tasks in (few, more_attempts, more_tasks) if (found := set_figure(tasks).interval)
    ]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)
    assert widths[2] < widths[0] / 2


@given(st.lists(st.integers(-1, 1), min_size=1, max_size=16))
def test_with_one_attempt_each_the_test_is_mcnemars(values: list[int]) -> None:
    better, worse = values.count(1), values.count(-1)
    theirs = scipy.stats.binomtest(better, better + worse).pvalue if better + worse else 1.0
    assert sign_flip_p(values) == pytest.approx(theirs)


@given(st.lists(st.sampled_from([-1, -0.5, -0.25, 0, 0.25, 0.5, 1]), min_size=2, max_size=9))
def test_the_sign_flips_are_those_of_another_library(values: list[float]) -> None:
    moved = np.asarray([value for value in values if value])
    if len(moved) < 2:
        return
    theirs = scipy.stats.permutation_test(
        (moved,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    exact = np.mean(
        [
            abs(np.dot(signs, moved)) >= abs(moved.sum()) - 1e-9
            for signs in itertools.product((1, -1), repeat=len(moved))
        ]
    )
    assert sign_flip_p(values) == pytest.approx(exact)
    assert theirs.pvalue <= 1


def test_many_tasks_are_tested_by_a_fixed_sample_of_signs() -> None:
    values = [0.5] * 16 + [-0.5] * 9
    exact = scipy.stats.binomtest(16, 25).pvalue
    assert sign_flip_p(values) == pytest.approx(exact, abs=0.02)
    assert sign_flip_p(values) == sign_flip_p(values)
    assert sign_flip_p([1.0] * 200) > 0


def test_agents_are_compared_on_the_tasks_that_both_have() -> None:
    first = {"a": Counts(4, 4), "b": Counts(4, 2), "c": Counts(4, 1), "z": Counts(0, 0)}
    second = {"a": Counts(2, 0), "b": Counts(4, 2), "d": Counts(1, 1), "z": Counts(3, 3)}
    found = compare(first, second)
    assert [(task.task, task.value) for task in found.tasks] == [("a", 1.0), ("b", 0.0)]
    assert found.difference is not None
    assert (found.difference.value, found.only_first, found.only_second) == (0.5, 1, 2)
    assert not found.is_clear
    assert compare(first, {}).difference is None


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40))
def test_an_interval_of_differences_turns_with_its_sign(values: list[float]) -> None:
    found, turned = difference_interval(values), difference_interval([-value for value in values])
    assert (found.low, found.high) == pytest.approx((-turned.high, -turned.low))
    assert -1 <= found.low <= found.value <= found.high <= 1


def test_clear_differences_are_clear() -> None:
    first = {str(n): Counts(3, 3) for n in range(12)}
    second = {str(n): Counts(3, n % 2) for n in range(12)}
    found = compare(first, second)
    assert found.is_clear
    assert found.difference is not None
    assert found.difference.is_clear


ATTEMPTS = [
    EndedAttempt("a", True, 1.0, ended_by="done", steps=4, seconds=8.0, tokens=100, cost_micros=1_000_000),
    EndedAttempt("a", False, 0.5, ended_by="step_limit", steps=50, seconds=90.0, tokens=900, cost_micros=3_000_000),
    EndedAttempt("a", False, spoilt=True, ended_by="", cost_micros=9_000_000),
    EndedAttempt(
        "b", True, 1.0, retried=True, ended_by="done", steps=8, seconds=12.0, tokens=200, cost_micros=2_000_000
    ),
]


def test_a_summary_counts_what_counts() -> None:
    found = summarise(ATTEMPTS)
    assert (found.attempts, found.solved, found.spoilt_share) == (3, 2, 0.25)
    assert (found.mean_score, found.retried_share) == pytest.approx((2.5 / 3, 1 / 3))
    assert (found.cost_per_solved, found.tokens_per_solved) == (3.0, 600.0)
    assert (found.median_steps, found.median_seconds) == (6, 10.0)
    assert found.ended_by == pytest.approx({"done": 2 / 3, "step_limit": 1 / 3})
    assert not found.retries_differ
    assert counts_by_task(ATTEMPTS) == {"a": Counts(2, 1), "b": Counts(1, 1)}


def test_a_summary_of_nothing_has_no_figures() -> None:
    found = summarise([])
    assert (found.attempts, found.mean_score, found.cost_per_solved, found.spoilt_share) == (0, None, None, None)


def test_retries_that_are_solved_more_often_are_noticed() -> None:
    attempts = [EndedAttempt("a", retried, retried=retried) for retried in (True, False) for _ in range(20)]
    assert summarise(attempts).retries_differ


def test_tasks_are_sorted_by_how_often_they_are_solved() -> None:
    assert [how_often(Counts(3, solved)) for solved in (3, 1, 0)] == [Often.ALWAYS, Often.SOMETIMES, Often.NEVER]


def test_disagreements_and_tasks_that_the_oracle_alone_solves() -> None:
    agents = {
        "one": {"a": Counts(4, 4), "b": Counts(4, 0), "c": Counts(2, 0)},
        "two": {"a": Counts(4, 1), "b": Counts(4, 2), "c": Counts(2, 0), "d": Counts(0, 0)},
    }
    assert disagreements(agents) == [("a", 0.75), ("b", 0.5)]
    assert only_by_oracle(agents, ["a", "c", "d"]) == ["c"]
