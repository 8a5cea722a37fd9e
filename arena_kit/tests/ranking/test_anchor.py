"""An anchored scale stays in place: agents that do not change keep their ratings, whatever joins them."""

from __future__ import annotations

import numpy as np
import pytest

from arena_kit.ranking.rating import MEAN, Anchor, RatingFit, Seating, fit_ratings, ranking
from arena_kit.ranking.scores import Interval

ANN, BOB, CY, DEE = 1, 2, 3, 4
REFERENCE, DEEP_SEARCH = 0, 3
CAST = (0.0, -80.0, 600.0, 840.0, 300.0, 440.0)
"""True strengths of a first season's six agents, the reference first."""
CLONES = 200


def test_an_anchor_stays_and_intervals_are_those_of_the_distance_from_it() -> None:
    rows = [(1, ANN, BOB, 14, 2, 4), (2, BOB, CY, 12, 0, 8), (3, CY, DEE, 15, 1, 4)]
    free, held = fit_ratings(rows), fit_ratings(rows, anchor=Anchor(frozenset((BOB,)), 1000.0))

    assert held.interval(1) == Interval(1000.0, 1000.0, 1000.0)
    assert held.pool_mean == pytest.approx(MEAN + 1000.0 - free.values[1])
    for one in range(4):
        assert held.interval(one).value == pytest.approx(1000.0 + free.difference(one, 1).value)
        assert held.interval(one).low == pytest.approx(1000.0 + free.difference(one, 1).low, abs=1e-3)
        assert held.difference(one, 3).high == pytest.approx(free.difference(one, 3).high, abs=1e-3)
    assert [row.submission for row in ranking(held)] == [row.submission for row in ranking(free)]


def test_several_anchors_stand_at_their_value_on_average() -> None:
    found = fit_ratings([(1, ANN, BOB, 14, 2, 4), (2, BOB, CY, 12, 0, 8)], anchor=Anchor(frozenset((ANN, BOB)), 1500.0))

    assert found.values[:2].mean() == pytest.approx(1500.0)
    assert found.interval(0).low < found.interval(0).value < found.interval(0).high


def test_200_weak_clones_move_no_other_agent_by_more_than_one_interval() -> None:
    generator = np.random.default_rng(1)
    strengths = np.array([*CAST, *generator.normal(0, 30, CLONES)])
    rows = _all_meet(strengths, generator)
    before = _of_the_first(rows, len(CAST))

    for count in (10, 50, CLONES):
        now = _of_the_first(rows, len(CAST) + count)
        for agent in range(len(CAST)):
            interval = before.interval(agent)
            assert abs(now.values[agent] - interval.value) <= interval.high - interval.low
    # Without an anchor, the mean of the pool sinks and lifts all that are above it.
    free = [fit_ratings([row for row in rows if max(row[1:3]) < size]) for size in (len(CAST), len(strengths))]
    assert free[1].values[DEEP_SEARCH] > free[0].interval(DEEP_SEARCH).high + 100


def test_intervals_of_an_anchored_scale_contain_the_truth() -> None:
    generator = np.random.default_rng(2)
    inside = []
    for _ in range(60):
        strengths = generator.normal(0, 150, 20)
        found = fit_ratings(_all_meet(strengths, generator, matches=10), anchor=Anchor(frozenset((REFERENCE,)), 1000.0))
        for agent in range(1, len(strengths)):
            rating, truth = found.interval(agent), 1000.0 + strengths[agent] - strengths[REFERENCE]
            inside.append(rating.low <= truth <= rating.high)
    assert 0.93 <= np.mean(inside) <= 0.97


def _of_the_first(rows: list[Seating], count: int) -> RatingFit:
    return fit_ratings([row for row in rows if max(row[1:3]) < count], anchor=Anchor(frozenset((REFERENCE,)), 1000.0))


def _all_meet(strengths: np.ndarray, generator: np.random.Generator, matches: int = 50) -> list[Seating]:
    """Duels of all pairs, with `matches` matches from each seat, in which a tenth of the closest ones are drawn."""
    rows = []
    duel = 0
    for late in range(len(strengths)):
        for early in range(late):
            duel += 1
            for first, second in ((late, early), (early, late)):
                wins = 1 / (1 + 10 ** ((strengths[second] - strengths[first] - 20) / 400))
                draws = 0.2 * min(wins, 1 - wins)
                won, drawn, lost = generator.multinomial(matches, [wins - draws / 2, draws, 1 - wins - draws / 2])
                rows.append((duel, first, second, int(won), int(drawn), int(lost)))
    return rows
