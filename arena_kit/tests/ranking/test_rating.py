from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from arena_kit.ranking.rating import CRITICAL, FIRST_SEAT_SPREAD, MEAN, STEP, RatingFit, Seating, fit_ratings, ranking
from arena_kit.tests.ranking.seatings import SEATINGS, season

ANN, BOB, CY, DEE = 1, 2, 3, 4
SWEEP: Seating = (1, ANN, BOB, 50, 0, 0)
SWEPT: Seating = (1, BOB, ANN, 0, 0, 50)

few_examples = settings(max_examples=25)


def rated(*values: float, covariance: np.ndarray | None = None) -> RatingFit:
    """A fit of these values, by default with errors of 10 points each."""
    count = len(values)
    zeros = np.zeros(count, dtype=np.int64)
    matrix = 100.0 * np.eye(count) if covariance is None else covariance
    return RatingFit(
        tuple(range(1, count + 1)), np.array(values, dtype=float), matrix, zeros, zeros, zeros, None, MEAN, 200.0
    )


def by_id(found: RatingFit) -> dict[int, float]:
    return dict(zip(found.submissions, found.values.tolist(), strict=True))


@few_examples
@given(SEATINGS, st.randoms())
def test_neither_order_nor_numbers_of_duels_nor_names_matter(rows: list[Seating], shuffle: random.Random) -> None:
    expected = fit_ratings(rows)
    names = {name: 1000 - name for name in range(10)}
    renamed = [(-7 * duel, names[first], names[second], *counts) for duel, first, second, *counts in rows]
    shuffle.shuffle(renamed)

    found = fit_ratings(renamed)  # type: ignore[arg-type]  # mypy loses the length of a starred tuple

    assert found.submissions == tuple(sorted(names[name] for name in expected.submissions))
    assert found.values == pytest.approx(expected.values[::-1], abs=1e-6)
    assert found.covariance == pytest.approx(expected.covariance[::-1, ::-1], rel=1e-6, abs=1e-4)
    assert found.pool_spread == pytest.approx(expected.pool_spread, rel=1e-6)


@few_examples
@given(SEATINGS)
def test_losers_for_winners_mirrors_everything(rows: list[Seating]) -> None:
    expected = fit_ratings(rows)

    found = fit_ratings(
        [(duel, first, second, losses, draws, wins) for duel, first, second, wins, draws, losses in rows]
    )

    assert found.values == pytest.approx(2 * MEAN - expected.values, abs=1e-6)
    assert found.covariance == pytest.approx(expected.covariance, rel=1e-6, abs=1e-4)
    assert found.first_seat is not None
    assert expected.first_seat is not None
    assert found.first_seat.value == pytest.approx(-expected.first_seat.value, abs=1e-6)


@few_examples
@given(SEATINGS)
def test_the_pool_has_its_mean_and_every_figure_is_possible(rows: list[Seating]) -> None:
    found = fit_ratings(rows)

    assert found.values.mean() == pytest.approx(MEAN)
    table = ranking(found)
    assert sum(row.chance for row in table) == pytest.approx(1.0)
    for row in table:
        assert 1 <= row.best_rank <= row.rank <= row.worst_rank <= len(table)
        assert row.rating.low < row.rating.value < row.rating.high
    assert [row.rating.value for row in table] == pytest.approx(sorted(found.values, reverse=True), abs=2e-3)
    assert sum(row.match_count for row in table) == 2 * sum(sum(row[3:]) for row in rows)
    assert sum(row.duel_count for row in table) == 2 * len({row[0] for row in rows})


def test_without_players_the_table_is_empty() -> None:
    found = fit_ratings([])
    assert found.submissions == ()
    assert found.is_connected
    assert ranking(found) == []


def test_who_is_alone_is_the_mean() -> None:
    (row,) = ranking(fit_ratings([], submissions=[ANN]))
    assert (row.submission, row.rating.value, row.rank, row.worst_rank, row.chance) == (ANN, MEAN, 1, 1, 1.0)


def test_only_wins_give_a_finite_rating_with_a_wide_interval() -> None:
    one_duel = fit_ratings([SWEEP, SWEPT])
    again = fit_ratings([(number, *row[1:]) for number in range(20) for row in (SWEEP, SWEPT)])
    many = fit_ratings([(number, ANN, 10 + number, 50, 0, 0) for number in range(20)], has_first_seat=False)

    for found in (one_duel, again, many):
        assert by_id(found)[ANN] > MEAN + 200
        assert MEAN < found.interval(0).low < found.interval(0).high < 3 * MEAN
    # One opponent is one observation, however many matches there are against it.
    widths = [found.interval(0).high - found.interval(0).low for found in (one_duel, again, many)]
    assert widths[1] > 0.9 * widths[0]
    assert widths[2] < 0.7 * widths[0]


def test_draws_alone_make_all_equal() -> None:
    found = fit_ratings([(1, ANN, BOB, 0, 10, 0), (2, BOB, CY, 0, 10, 0)])

    assert found.values == pytest.approx([MEAN] * 3, abs=1e-9)
    assert [(row.rank, row.best_rank, row.worst_rank) for row in ranking(found)] == [(1, 1, 3)] * 3


def test_groups_that_never_met_are_told_apart() -> None:
    rows = [(1, ANN, BOB, 5, 0, 0), (2, CY, DEE, 3, 0, 2)]

    apart, together = fit_ratings(rows, submissions=[9]), fit_ratings([*rows, (3, BOB, DEE, 1, 1, 1)])

    assert apart.groups.tolist() == [0, 0, 1, 1, -1]
    assert not apart.is_connected
    assert np.isfinite(apart.values).all()
    assert together.groups.tolist() == [0, 0, 0, 0]
    assert together.is_connected
    # Two strangers' difference is known no better than the spread of the pool lets on.
    assert apart.difference(0, 2).high - apart.difference(0, 2).low > 2 * apart.pool_spread


def test_what_the_first_seat_is_worth_is_fitted_where_it_is_asked_for() -> None:
    rows = season(4, np.array([100.0, 0.0, -100.0]), duels=40, matches=10, first_seat=80.0)

    found, without = fit_ratings(rows), fit_ratings(rows, has_first_seat=False)

    assert found.first_seat is not None
    assert found.first_seat.low < 80 < found.first_seat.high
    assert found.first_seat.high - found.first_seat.low < 80
    assert without.first_seat is None
    unplayed = fit_ratings([]).first_seat
    assert unplayed is not None
    assert unplayed.high == pytest.approx(CRITICAL * FIRST_SEAT_SPREAD)


def test_where_the_first_seat_wins_every_match_its_worth_is_as_uncertain_as_before_any() -> None:
    rows = [(number, one, other, 20, 0, 0) for number, (one, other) in enumerate(permutations(range(20), 2))]
    always = fit_ratings(rows).first_seat
    nearly = fit_ratings([(*rows[0][:3], 19, 1, 0), *rows[1:]]).first_seat
    never = fit_ratings([(*row[:3], 0, 0, 20) for row in rows]).first_seat
    assert always is not None
    assert nearly is not None
    assert never is not None
    assert always.high - always.value == pytest.approx(CRITICAL * FIRST_SEAT_SPREAD)
    assert never.value - never.low == pytest.approx(CRITICAL * FIRST_SEAT_SPREAD)
    assert never.value == pytest.approx(-always.value)
    assert nearly.high - nearly.value < 300


def test_a_version_starts_where_its_predecessor_stands() -> None:
    rows = season(6, np.array([120.0, 0.0, -120.0]), duels=20, matches=5)
    new, newer = 11, 13

    # 12 was never rated: two steps lead from 13 to 11.
    found = fit_ratings(rows, submissions=[new, newer], predecessors={new: 1, newer: 12, 12: new})

    index = {name: place for place, name in enumerate(found.submissions)}
    assert found.values[index[new]] == pytest.approx(found.values[index[1]], abs=1e-6)
    assert found.values[index[newer]] == pytest.approx(found.values[index[1]], abs=1e-6)
    steps = [found.difference(index[one], index[other]) for one, other in ((new, 1), (newer, new), (newer, 1))]
    assert [step.high for step in steps] == pytest.approx([CRITICAL * STEP * math.sqrt(n) for n in (1, 2, 3)], rel=1e-6)


@pytest.mark.parametrize("predecessors", [{ANN: ANN}, {ANN: BOB, BOB: ANN}, {ANN: 7, 7: 8, 8: 7}])
def test_predecessors_in_circles_are_refused(predecessors: dict[int, int]) -> None:
    with pytest.raises(ValueError, match="its own predecessor"):
        fit_ratings([SWEEP], predecessors=predecessors)


def test_no_player_meets_itself() -> None:
    with pytest.raises(ValueError, match="meets itself"):
        fit_ratings([(1, ANN, ANN, 1, 0, 0)])


def test_ties_share_ranks() -> None:
    assert [(row.submission, row.rank) for row in ranking(rated(1500, 1600, 1600, 1400))] == [
        (2, 1), (3, 1), (1, 3), (4, 4),
    ]  # fmt: skip


def test_ranks_are_clear_where_all_differences_of_one_are_clear_together() -> None:
    # Errors of differences are 14.14 points. Two comparisons each: 2.24 of them are 31.7.
    table = ranking(rated(1600, 1565, 1535))
    assert [(row.submission, row.best_rank, row.worst_rank) for row in table] == [(1, 1, 1), (2, 2, 3), (3, 2, 3)]
    # Alone, 1.96 of them are enough: 27.7.
    table = ranking(rated(1600, 1565, 1535), among=[2, 3])
    assert [(row.submission, row.rank, row.best_rank, row.worst_rank) for row in table] == [(2, 1, 1, 1), (3, 2, 2, 2)]


def test_errors_that_two_share_do_not_blur_their_order() -> None:
    shared = np.array([[400.0, 390.0], [390.0, 400.0]])

    first, second = ranking(rated(1520, 1500, covariance=shared))

    assert first.rating.low < second.rating.high
    assert (first.worst_rank, second.best_rank) == (1, 2)


def test_the_chance_to_be_the_best_is_that_of_the_joint_distribution() -> None:
    correlated = np.array([[400.0, 300.0], [300.0, 400.0]])

    first, second = ranking(rated(1515, 1500, covariance=correlated))

    assert first.chance == pytest.approx(ndtr(15 / math.sqrt(200)), abs=0.015)
    assert first.chance + second.chance == 1
    assert [row.chance for row in ranking(rated(1500, 1500, 1500, 1000))] == pytest.approx([1 / 3] * 3 + [0], abs=0.02)


@pytest.mark.slow
def test_intervals_and_rank_ranges_hold_the_truth_as_often_as_they_say() -> None:
    held, ranks_held, total = 0, 0, 0
    for number in range(30):
        truth = np.random.default_rng(number).normal(0.0, 130.0, 16)
        truth -= truth.mean()
        found = fit_ratings(season(number, truth, duels=1, matches=2, first_seat=40.0, draws=0.3))
        true_ranks = 1 + (truth[:, None] < truth).sum(axis=1)
        for row in ranking(found):
            total += 1
            held += row.rating.low < MEAN + truth[row.submission - 1] < row.rating.high
            ranks_held += row.best_rank <= true_ranks[row.submission - 1] <= row.worst_rank
    # Three standard errors of 480 are 3%; of many more such seasons 94% hold.
    assert 0.91 <= held / total <= 0.98
    assert ranks_held / total >= 0.95


def test_matches_that_repeat_each_other_make_no_rating_surer() -> None:
    rows = season(8, np.linspace(-150.0, 150.0, 16), duels=1, matches=1)
    in_a_duel = [(duel, first, second, 20 * wins, 0, 20 * losses) for duel, first, second, wins, _, losses in rows]
    in_every_edition = [(1000 * edition + row[0], *row[1:]) for row in rows for edition in range(20)]
    news = season(8, np.linspace(-150.0, 150.0, 16), duels=20, matches=1)

    found = [fit_ratings(these) for these in (rows, in_a_duel, in_every_edition, news)]

    width = [math.sqrt(np.diagonal(one.covariance).mean()) for one in found]
    assert width[1] == pytest.approx(width[2])
    assert width[1] > 0.9 * width[0]
    assert width[3] < 0.4 * width[0]


def test_who_is_not_listed_takes_no_rank() -> None:
    found = rated(1700, 1600, 1500)
    assert [(row.submission, row.rank, row.chance) for row in ranking(found, among={2, 3})] == [
        (2, 1, 1.0),
        (3, 2, 0.0),
    ]
    assert ranking(replace(found, submissions=(7, 8, 9)), among={1}) == []
