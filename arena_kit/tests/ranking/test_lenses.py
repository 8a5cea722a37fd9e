from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_kit.ranking.calibration import Calibration, Prediction, calibration, worth
from arena_kit.ranking.lenses import HeadToHead, Tally, cycles, head_to_head, who_beats_whom
from arena_kit.ranking.nash import maximum_entropy_nash, nash_ranking
from arena_kit.ranking.scores import wilson

ROCK, PAPER, SCISSORS, NOVICE = 1, 2, 3, 4
CIRCLE = [Tally(PAPER, ROCK, 90, 0, 10), Tally(SCISSORS, PAPER, 90, 0, 10), Tally(ROCK, SCISSORS, 90, 0, 10)]
LOST = [Tally(agent, NOVICE, 95, 0, 5) for agent in (ROCK, PAPER, SCISSORS)]


def antisymmetric(rows: list[list[float]]) -> np.ndarray:
    upper = np.triu(np.array(rows), 1)
    return np.asarray(upper - upper.T)


def wilson_of_scipy(won: int, of: int) -> Any:
    # Not imported by every process of a run: it takes more than a second.
    from scipy.stats import binomtest

    return binomtest(won, of).proportion_ci(method="wilson")


def test_a_matrix_adds_up_what_was_played_from_either_side() -> None:
    table = head_to_head([7, 5], [Tally(5, 7, 3, 2, 1), Tally(7, 5, 1, 0, 1), Tally(5, 99, 9, 0, 0)])
    assert table.matches.tolist() == [[0, 8], [8, 0]]
    assert table.points.tolist() == [[0, 3], [5, 0]]
    assert table.shares[0, 1] == 3 / 8
    assert np.isnan(table.shares[0, 0])


@pytest.mark.parametrize(("won", "of"), [(0, 5), (13, 20), (100, 100), (1, 2)])
def test_intervals_are_those_of_scipy(won: int, of: int) -> None:
    lower, upper = wilson(np.array(float(won)), np.array(float(of)))
    theirs = wilson_of_scipy(won, of)
    assert [float(lower), float(upper)] == pytest.approx([theirs.low, theirs.high])


def test_a_player_without_meetings_beats_no_other() -> None:
    lower, upper = wilson(np.zeros(1), np.zeros(1))
    assert (lower[0], upper[0]) == (0, 1)
    assert not who_beats_whom(head_to_head([1, 2], [])).any()


def test_only_clear_results_count_as_beating() -> None:
    beats = who_beats_whom(head_to_head([1, 2, 3], [Tally(1, 2, 60, 0, 40), Tally(1, 3, 59, 0, 41)]))
    assert beats.tolist() == [[False, True, False], [False] * 3, [False] * 3]


def test_a_circle_is_found_once_and_named_in_its_direction() -> None:
    table = head_to_head([ROCK, PAPER, SCISSORS, NOVICE], CIRCLE + LOST)
    (found,) = cycles(table)
    assert found.submissions == (ROCK, SCISSORS, PAPER)
    assert found.weakest == pytest.approx(0.8256, abs=1e-4)


def test_a_circle_that_may_be_luck_is_none() -> None:
    table = head_to_head([1, 2, 3], [Tally(1, 2, 6, 0, 4), Tally(2, 3, 6, 0, 4), Tally(3, 1, 6, 0, 4)])
    assert cycles(table) == []


def test_a_longer_circle_is_a_knot_without_threes() -> None:
    ring = [Tally(one, one % 4 + 1, 90, 0, 10) for one in (1, 2, 3, 4)]
    table = head_to_head([1, 2, 3, 4], ring)
    assert cycles(table) == []


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(3, 9))
def test_cycles_are_those_of_trying_all_threes(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    points = np.triu(random.integers(0, 41, (count, count)).astype(float), 1)
    matches = np.full((count, count), 40.0) - 40 * np.eye(count)
    table = HeadToHead(tuple(range(count)), points + np.tril(40 - points.T, -1), matches)
    beats = who_beats_whom(table)
    tried = {
        three
        for three in permutations(range(count), 3)
        if three[0] == min(three)
        and beats[three[0], three[1]]
        and beats[three[1], three[2]]
        and beats[three[2], three[0]]
    }
    assert {cycle.submissions for cycle in cycles(table, limit=1000)} == tried
    weakest = [cycle.weakest for cycle in cycles(table, limit=3)]
    assert weakest == sorted(weakest, reverse=True)


def test_rock_paper_and_scissors_share_the_mixture_and_the_first_rank() -> None:
    table = head_to_head([ROCK, PAPER, SCISSORS, NOVICE], CIRCLE + LOST)
    *first, last = nash_ranking(table)
    assert {standing.submission for standing in first} == {ROCK, PAPER, SCISSORS}
    assert all(standing.rank == 1 and standing.skill == 0 for standing in first)
    assert [standing.weight for standing in first] == pytest.approx([1 / 3] * 3, abs=1e-6)
    assert (last.submission, last.rank, last.weight) == (NOVICE, 4, 0)
    # 95 of 100, with one even match added.
    assert last.skill == pytest.approx(400 * np.log10(5.5 / 95.5), abs=1e-3)


def test_who_beats_everybody_is_the_whole_mixture() -> None:
    best = [Tally(9, agent, 60, 0, 40) for agent in (ROCK, PAPER, SCISSORS)]
    ranking = nash_ranking(head_to_head([ROCK, PAPER, SCISSORS, 9], CIRCLE + best))
    assert (ranking[0].submission, ranking[0].rank, ranking[0].weight) == (9, 1, 1)
    assert [standing.rank for standing in ranking[1:]] == [2, 2, 2]


def test_copies_of_an_agent_change_no_skill() -> None:
    # A loop of unequal strengths above two others, one of which preys on the other.
    game = antisymmetric(
        [[0, 1.0, -2.0, 1.5, 0.3], [0, 0, 0.7, 0.9, 2.0], [0, 0, 0, 1.2, 0.1], [0, 0, 0, 0, 3.0], [0, 0, 0, 0, 0]]
    )
    once = maximum_entropy_nash(game)
    wide = np.block([[game, game[:, :1], game[:, :1]], [game[:1], 0, 0], [game[:1], 0, 0]])
    thrice = maximum_entropy_nash(wide)
    assert wide[:5] @ thrice == pytest.approx(game @ once, abs=1e-6)
    assert thrice[[0, 5, 6]] == pytest.approx([once[0] / 3] * 3, abs=1e-6)
    # While a mean of points against all others does move.
    assert abs(wide[3].mean() - game[3].mean()) > 0.1


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_no_player_beats_the_mixture(seed: int, count: int) -> None:
    game = antisymmetric(np.random.default_rng(seed).normal(0, 2, (count, count)).tolist())
    weights = maximum_entropy_nash(game)
    assert weights.sum() == pytest.approx(1)
    assert weights.min() >= 0
    assert (game @ weights).max() <= 1e-6


def test_of_many_mixtures_the_most_even_one_is_taken() -> None:
    # Nothing tells the first three apart; the fourth loses to one of them and draws with the others.
    game = np.zeros((4, 4))
    game[0, 3], game[3, 0] = 1, -1
    assert maximum_entropy_nash(game) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0], abs=1e-6)


def test_who_has_not_met_is_taken_as_the_ratings_say() -> None:
    expected = np.array([[0.5, 0.75], [0.25, 0.5]])
    first, second = nash_ranking(head_to_head([1, 2], []), expected=expected)
    assert (first.submission, first.weight) == (1, 1)
    assert second.skill == pytest.approx(-400 * np.log10(3), abs=1e-3)


def test_without_a_prior_who_has_not_met_is_taken_as_the_ratings_say_too() -> None:
    ranking = nash_ranking(head_to_head([1, 2, 3], [Tally(1, 2, 3, 0, 1)]), prior_matches=0)
    assert [(row.submission, row.rank) for row in ranking] == [(1, 1), (3, 1), (2, 3)]


def test_without_agents_there_is_no_ranking() -> None:
    assert nash_ranking(head_to_head([], [])) == []


def judged(predictions: list[Prediction], bins: int = 10) -> Calibration:
    found = calibration(predictions, bins)
    assert found is not None
    return found


def test_brier_scores_of_known_values() -> None:
    # One match each: (0.9 - 1)^2, (0.8 - 1)^2, (0.3 - 0)^2 and (0.5 - 0.5)^2.
    said = [
        Prediction((0, 1), 0.9, 1, 0, 0),
        Prediction((0, 2), 0.8, 1, 0, 0),
        Prediction((0, 3), 0.3, 0, 0, 1),
        Prediction((0, 4), 0.5, 0, 1, 0),
    ]
    found = judged(said)
    assert found.brier == pytest.approx((0.01 + 0.04 + 0.09) / 4)
    assert found.even == pytest.approx(0.75 / 4)
    assert judged([Prediction((0, 5), 1.0, 5, 0, 0), Prediction((0, 6), 0.0, 0, 0, 7)]).brier == 0
    assert judged([Prediction((0, 7), 0.75, 3, 0, 1)]).brier == pytest.approx((3 * 0.0625 + 0.5625) / 4)


def test_bins_hold_what_was_said_and_what_happened() -> None:
    found = judged(
        [Prediction((0, 8), 0.62, 6, 0, 4), Prediction((0, 9), 0.68, 7, 0, 3), Prediction((0, 10), 1.0, 1, 0, 0)]
    )
    assert [(item.low, item.high, item.duels, item.matches) for item in found.bins] == [
        (0.6, 0.7, 2, 20), (0.9, 1.0, 1, 1),
    ]  # fmt: skip
    assert [found.bins[0].expected, found.bins[0].happened] == pytest.approx([0.65, 0.65])
    assert found.bins[0].lower < 0.65 < found.bins[0].upper


def test_duels_that_repeat_one_result_make_no_narrow_interval() -> None:
    spread = judged(
        [Prediction((0, 11), 0.5, 50, 0, 50), Prediction((0, 12), 0.5, 48, 0, 52), Prediction((0, 13), 0.5, 52, 0, 48)]
    )
    lumped = judged(
        [Prediction((0, 14), 0.5, 100, 0, 0), Prediction((0, 15), 0.5, 0, 0, 100), Prediction((0, 16), 0.5, 50, 0, 50)]
    )
    assert spread.bins[0].upper - spread.bins[0].lower < 0.12
    assert lumped.bins[0].upper - lumped.bins[0].lower > 0.6


@pytest.mark.slow
def test_what_two_submissions_repeat_from_edition_to_edition_is_one_observation() -> None:
    once = [Prediction((0, n), 0.62, 2 if n < 7 else 0, 0, 0 if n < 7 else 2) for n in range(1, 11)]
    many = judged(once * 50)
    assert (many.bins[0].pairs, many.bins[0].duels, many.bins[0].matches) == (10, 500, 1000)
    theirs = wilson_of_scipy(6, 10)
    assert [many.bins[0].lower, many.bins[0].upper] == pytest.approx([theirs.low, theirs.high])


def test_pairs_that_all_end_alike_are_worth_one_match_each() -> None:
    # Nothing varies here, neither within pairs nor between them: that says nothing of matches in between.
    found = judged([Prediction((0, n), 0.97, 100, 0, 0) for n in range(1, 5)])
    assert found.bins[0].lower == pytest.approx(wilson_of_scipy(4, 4).low)


def test_matches_of_true_chance_are_worth_what_they_are() -> None:
    random = np.random.default_rng(8)
    wins = random.binomial(40, 0.6, 50).astype(float)
    assert worth(np.column_stack([wins, np.zeros(50), 40 - wins])) == pytest.approx(2000, rel=0.3)


def test_true_chances_are_found_calibrated() -> None:
    random = np.random.default_rng(3)
    chances = random.uniform(0, 1, 2000)
    won = random.binomial(10, chances)
    said = zip(chances.tolist(), won.tolist(), strict=True)
    found = judged([Prediction((0, n), chance, wins, 0, 10 - wins) for n, (chance, wins) in enumerate(said, start=1)])
    # The mean of p (1 - p) over 0 to 1 is a sixth.
    assert found.brier == pytest.approx(1 / 6, abs=0.01)
    assert sum(item.lower <= item.expected <= item.upper for item in found.bins) >= 8


def test_without_a_match_there_is_nothing_to_judge() -> None:
    assert calibration([Prediction((0, 18), 0.5, 0, 0, 0)]) is None


def test_a_prediction_that_is_no_score_is_refused() -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1; 1\.2 was expected"):
        calibration([Prediction((0, 19), 1.2, 1, 0, 0)])
