from __future__ import annotations

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.ranking import elo
from arena_kit.ranking.elo import (
    DEVIATION,
    FLOOR,
    PERFORMANCE,
    START,
    ManySeatResult,
    RatingEstimate,
    k_factor,
    rate,
    rate_many_seats,
)
from arena_kit.ranking.standings import DuelResult

ANN, BOB, CY = 10, 20, 30


def duel(number: int, winner: int, loser: int) -> DuelResult:
    return DuelResult(number, (winner, loser), (2, 0), (1.0, -1.0))


def draw(number: int, one: int, two: int) -> DuelResult:
    return DuelResult(number, (one, two), (1, 1), (0.0, 0.0))


def test_equals_exchange_half_of_the_step() -> None:
    assert rate([duel(1, ANN, BOB)]) == {ANN: RatingEstimate(1520.0, 1), BOB: RatingEstimate(1480.0, 1)}


def test_a_draw_of_equals_changes_nothing() -> None:
    assert rate([draw(1, ANN, BOB)]) == {ANN: RatingEstimate(START, 1), BOB: RatingEstimate(START, 1)}


def test_who_was_expected_to_win_gains_less() -> None:
    # After one win the ratings are 1520 and 1480: expected 1 / (1 + 10^(-40/400)) = 0.5573.
    again = rate([duel(1, ANN, BOB), duel(2, ANN, BOB)])
    assert again[ANN].value == pytest.approx(1520 + 40 * (1 - 0.557312), abs=1e-3)
    upset = rate([duel(1, ANN, BOB), duel(2, BOB, ANN)])
    assert upset[BOB].value == pytest.approx(1480 + 40 * (1 - 0.442688), abs=1e-3)


@pytest.mark.parametrize(("duels", "step"), [(0, 40), (9, 40), (10, 32), (19, 32), (20, 24), (1000, 24)])
def test_steps_get_smaller_with_experience(duels: int, step: int) -> None:
    assert k_factor(duels) == step


def test_later_results_added_to_earlier_ones_give_the_same_as_all_at_once() -> None:
    results = [duel(1, ANN, BOB), duel(2, BOB, CY), draw(3, ANN, CY)]
    for order in permutations(results):
        for cut in range(4):
            assert rate(order[cut:], rate(order[:cut])) == rate(order)


def test_no_rating_falls_through_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FLOOR == 0
    # So far no agent falls in a lifetime: each further loss against opponents who start at 1500 costs less.
    monkeypatch.setattr(elo, "FLOOR", 1400.0)
    values = rate(duel(number, winner=1000 + number, loser=ANN) for number in range(20))
    assert values[ANN] == RatingEstimate(1400.0, 20)


results = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()).filter(lambda row: row[0] != row[1]))


@given(results)
def test_beginners_ratings_add_up_to_what_they_started_with(rows: list[tuple[int, int, bool]]) -> None:
    played = [
        duel(number, one, two) if won else draw(number, one, two) for number, (one, two, won) in enumerate(rows[:9])
    ]
    estimates = rate(played)
    # Below ten duels all have the same step: what one gains the other loses.
    assert sum(estimate.value for estimate in estimates.values()) == pytest.approx(START * len(estimates))
    assert sum(estimate.duel_count for estimate in estimates.values()) == 2 * len(played)


def test_no_submission_is_rated_without_a_duel() -> None:
    assert rate([]) == {}


def weng_lin(order: list[int], belief: dict[int, tuple[float, float]]) -> None:
    """Algorithm 4 of Weng and Lin 2011, written out for a match without ties; changes `belief` (mean, variance)."""
    c = math.sqrt(sum(variance + PERFORMANCE**2 for _, variance in (belief[who] for who in order)))
    strength = {who: math.exp(belief[who][0] / c) for who in order}
    changed = {}
    for place, who in enumerate(order):
        mean, variance = belief[who]
        # Who was still in the running when each place was taken, up to the own one.
        chances = [strength[who] / sum(strength[other] for other in order[taken:]) for taken in range(place + 1)]
        omega = variance / c * ((1 - chances[-1]) - sum(chances[:-1]))
        eta = math.sqrt(variance) / c * variance / c**2 * sum(chance * (1 - chance) for chance in chances)
        changed[who] = (mean + omega, variance * max(1 - eta, 1e-4))
    belief.update(changed)


def test_many_seats_are_rated_as_weng_and_lin_have_it() -> None:
    orders = [[ANN, BOB, CY], [CY, ANN, BOB], [ANN, CY], [BOB, ANN, CY, 40], [40, BOB, CY]]
    belief = dict.fromkeys((ANN, BOB, CY, 40), (START, DEVIATION**2))
    for order in orders:
        weng_lin(order, belief)

    found = rate_many_seats(table(number, *order) for number, order in reversed(list(enumerate(orders))))

    assert {who: estimate.value for who, estimate in found.items()} == pytest.approx(
        {who: mean for who, (mean, _) in belief.items()}
    )
    assert {who: estimate.duel_count for who, estimate in found.items()} == {ANN: 4, BOB: 4, CY: 5, 40: 2}


def test_two_beginners_move_as_openskill_publishes() -> None:
    # 25 to 27.63523138 and 22.36476861 on its own scale, where performances scatter by 25 / 6.
    found = rate_many_seats([table(1, ANN, BOB)])
    assert found[ANN].value == pytest.approx(START + 2.63523138 * PERFORMANCE * 6 / 25)
    assert found[BOB].value == pytest.approx(START - 2.63523138 * PERFORMANCE * 6 / 25)


def test_who_ties_at_a_table_moves_alike() -> None:
    found = rate_many_seats([ManySeatResult(1, (ANN, BOB, CY), (2.0, 2.0, -1.0))])
    assert found[ANN].value == pytest.approx(found[BOB].value)
    assert found[ANN].value > START > found[CY].value


@pytest.mark.parametrize(
    ("submissions", "scores"), [((ANN,), (1.0,)), ((ANN, BOB), (1.0,)), ((ANN, BOB, ANN), (1.0, 2.0, 3.0))]
)
def test_a_match_without_a_score_for_everybody_is_refused(
    submissions: tuple[int, ...], scores: tuple[float, ...]
) -> None:
    with pytest.raises(ValueError, match="Match 7 needs two or more different submissions"):
        rate_many_seats([ManySeatResult(7, submissions, scores)])


def table(number: int, *order: int) -> ManySeatResult:
    """A match with these places, from the first to the last."""
    return ManySeatResult(number, order, tuple(float(-place) for place in range(len(order))))
