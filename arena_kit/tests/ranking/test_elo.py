from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.ranking import elo
from arena_kit.ranking.elo import (
    FLOOR,
    START,
    RatingEstimate,
    k_factor,
    rate,
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
