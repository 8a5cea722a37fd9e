"""The model against independent implementations: choix, finite differences, and sums written out pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtri, stdtrit

from arena_kit.ranking import bradley_terry
from arena_kit.ranking.bradley_terry import Floats, Matches, Prior, RatingModel, fit
from arena_kit.ranking.rating import Seating
from arena_kit.tests.ranking.seatings import season

TRUTH = np.array([150.0, 60.0, 0.0, -60.0, -150.0])
ROWS = season(3, TRUTH, duels=4, matches=5, first_seat=60.0, draws=0.3)
COUNT = len(TRUTH)
NONE = np.zeros(0, dtype=np.int64)


def columns(rows: Sequence[Seating]) -> Matches:
    _, first, second, *counts = np.array(rows, dtype=np.int64).T
    return Matches(first - 1, second - 1, *counts)


def prior(spread: float, *, first_seat: float = 0.0, heir: bool = False) -> Prior:
    """Of a spread that is not fitted; with an heir the last player follows the first."""
    return Prior(
        roots=np.arange(COUNT - heir),
        heirs=np.array([COUNT - 1]) if heir else NONE,
        ancestors=np.array([0]) if heir else NONE,
        deviations=np.array([0.8]) if heir else np.zeros(0),
        spread=spread, narrowest=spread, widest=spread, first_seat=first_seat,
    )  # fmt: skip


def fitted(rows: Sequence[Seating], belief: Prior) -> RatingModel:
    return fit(COUNT, columns(rows), belief)


def games(rows: Sequence[Seating]) -> list[tuple[int, int]]:
    """Winner and loser of every match twice; a draw is won once by each."""
    found: list[tuple[int, int]] = []
    for _, first, second, wins, draws, losses in rows:
        found += [(first - 1, second - 1)] * (2 * wins + draws) + [(second - 1, first - 1)] * (2 * losses + draws)
    return found


@pytest.mark.parametrize("spread", [0.3, 1.2])
def test_strengths_are_those_of_choix_with_the_same_prior(spread: float) -> None:
    # Its penalty is alpha * sum of squares; every match is there twice.
    import choix  # loads all of scipy.stats, in every process that collects tests

    expected = choix.opt_pairwise(COUNT, games(ROWS), alpha=1 / spread**2, tol=1e-12)

    assert fitted(ROWS, prior(spread)).strengths[:COUNT] == pytest.approx(expected - expected.mean(), abs=1e-6)


def test_without_a_prior_strengths_are_those_of_choix_by_spectral_ranking() -> None:
    import choix

    expected = choix.ilsr_pairwise(COUNT, games(ROWS), alpha=0.0, tol=1e-12)

    assert fitted(ROWS, prior(1e4)).strengths[:COUNT] == pytest.approx(expected - expected.mean(), abs=1e-5)


def log_likelihood(rows: Sequence[Seating], at: Floats) -> float:
    total = 0.0
    for _, first, second, wins, draws, losses in rows:
        ahead = at[first - 1] - at[second - 1] + at[COUNT]
        total -= (wins + draws / 2) * np.log1p(np.exp(-ahead)) + (losses + draws / 2) * np.log1p(np.exp(ahead))
    return total


def log_posterior(rows: Sequence[Seating], at: Floats) -> float:
    """With an heir: spread 0.7, step 0.8, first seat 0.5."""
    squares = (at[: COUNT - 1] ** 2).sum() / 0.7**2 + (at[COUNT - 1] - at[0]) ** 2 / 0.8**2 + at[COUNT] ** 2 / 0.5**2
    return log_likelihood(rows, at) - float(squares) / 2


def slope(function: Callable[[Floats], float], at: Floats, by: float = 1e-4) -> Floats:
    steps = by * np.eye(len(at))
    return np.array([(function(at + step) - function(at - step)) / (2 * by) for step in steps])


def mode(model: RatingModel, belief: Prior) -> Floats:
    """Strengths where the mean of the prior is 0, as they were before the pool's mean was put there."""
    at = model.strengths.copy()
    at[:COUNT] -= at[belief.roots].mean()
    return at


def test_heirs_and_the_first_seat_are_where_the_posterior_is_highest() -> None:
    belief = prior(0.7, first_seat=0.5, heir=True)

    found = mode(fitted(ROWS, belief), belief)

    assert slope(partial(log_posterior, ROWS), found) == pytest.approx(np.zeros(COUNT + 1), abs=1e-4)


def centred(covariance: npt.NDArray[Any]) -> Floats:
    """Of strengths less their mean."""
    around = np.eye(COUNT + 1)
    around[:COUNT, :COUNT] -= 1 / COUNT
    return np.asarray(around @ covariance @ around.T, dtype=np.float64)


def test_the_covariance_is_the_documented_sum_over_pairs_of_players() -> None:
    # Two of them never met.
    rows = [row for row in (*ROWS, (900, 1, 2, 3, 1, 0), (901, 5, 2, 0, 0, 2)) if {*row[1:3]} != {3, 4}]
    belief = prior(0.7, first_seat=0.5, heir=True)

    model = fitted(rows, belief)

    at = mode(model, belief)
    pairs = {
        pair: [row for row in rows if pair == {*row[1:3]}] for pair in map(frozenset, combinations(range(1, 6), 2))
    }
    pairs = {pair: group for pair, group in pairs.items() if group}
    opponents = [sum(player in pair for pair in pairs) for player in range(1, 6)]
    gradients, expected = {}, {}
    for number, group in pairs.items():
        gradients[number], expected[number] = np.zeros(COUNT + 1), np.zeros((COUNT + 1, COUNT + 1))
        for _, first, second, wins, draws, losses in group:
            direction = np.zeros(COUNT + 1)
            direction[[first - 1, second - 1, COUNT]] = 1, -1, 1
            chance = 1 / (1 + np.exp(-direction @ at))
            matches = wins + draws + losses
            gradients[number] += (wins + draws / 2 - matches * chance) * direction
            expected[number] += matches * chance * (1 - chance) * np.outer(direction, direction)
    inverse = np.linalg.inv(sum(expected.values()) + belief.precision(COUNT, 0.7))
    stretched, leverages = {}, []
    for number, usual in expected.items():
        left = np.diagonal(usual - usual @ inverse @ usual)
        kept = np.divide(left, np.diagonal(usual), out=np.ones(COUNT + 1), where=np.diagonal(usual) > 0)
        stretched[number] = gradients[number] / np.sqrt(kept)
        leverages.append(1 - kept[pairs[number][0][1] - 1])
    # Slopes of a pair's two players are the same but for the sign: half of their squares is that of one.
    scattered = sum((one[:COUNT] ** 2).sum() / 2 for one in stretched.values())
    usual_scatter = sum(np.trace(usual[:COUNT, :COUNT]) / 2 for usual in expected.values())
    k, size = bradley_terry.SCATTER_PAIRS, len(pairs)
    pool = (k * usual_scatter + size * scattered) / ((k + size) * usual_scatter)
    middle = np.zeros((COUNT + 1, COUNT + 1))
    for number, group in pairs.items():
        few = min(opponents[player - 1] for player in group[0][1:3])
        shared = bradley_terry.MIXED_PAIRS / (bradley_terry.MIXED_PAIRS + few)
        middle += (1 - shared) * np.outer(stretched[number], stretched[number]) + shared * pool * expected[number]
    middle *= (stdtrit(k + size - sum(leverages), 0.975) / ndtri(0.975)) ** 2
    sandwich = inverse @ (middle + belief.precision(COUNT, 0.7)) @ inverse
    assert model.covariance == pytest.approx(centred(sandwich), rel=1e-6, abs=1e-9)


def test_the_spread_of_the_pool_is_a_resting_point_of_em() -> None:
    belief = Prior(np.arange(COUNT), NONE, NONE, np.zeros(0), spread=1.2, narrowest=0.1, widest=9.0, first_seat=0.0)

    model = fitted(ROWS, belief)

    at = model.strengths
    information = np.zeros((COUNT + 1, COUNT + 1)) + belief.precision(COUNT, model.spread)
    for winner, loser in games(ROWS):
        direction = np.zeros(COUNT + 1)
        direction[[winner, loser]] = 1, -1
        chance = 1 / (1 + np.exp(-direction @ at))
        information += chance * (1 - chance) / 2 * np.outer(direction, direction)
    posterior = centred(np.linalg.inv(information))[:COUNT, :COUNT]
    weight = bradley_terry.SPREAD_WEIGHT
    squares = (at[:COUNT] ** 2).sum() + np.trace(posterior)
    assert model.spread**2 == pytest.approx((weight * 1.2**2 + squares) / (weight + COUNT - 1), rel=1e-5)
