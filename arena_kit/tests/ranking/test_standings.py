from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from arena_kit.ranking.standings import DuelResult, Entry, Standing, duel_results, standings

ANN, BOB, CY, DEE = 10, 20, 30, 40


def won(duel: int, winner: int, loser: int, score: float = 1.0) -> DuelResult:
    return DuelResult(duel, (winner, loser), (2, 0), (score, -score))


def drawn(duel: int, one: int, two: int) -> DuelResult:
    return DuelResult(duel, (one, two), (1, 1), (0.0, 0.0))


def test_a_duels_points_are_two_for_wins_and_the_opponents_errors_and_one_for_draws() -> None:
    entries = [
        Entry(duel=1, submission=BOB, opponent=ANN, wins=3, draws=1, opponent_errors=0, score=3.0),
        Entry(duel=1, submission=BOB, opponent=ANN, wins=0, draws=2, opponent_errors=1, score=-1.5),
        Entry(duel=1, submission=ANN, opponent=BOB, wins=1, draws=2, opponent_errors=0, score=1.5),
        Entry(duel=1, submission=ANN, opponent=BOB, wins=0, draws=1, opponent_errors=0, score=-3.0),
    ]
    (result,) = duel_results(entries)
    assert result == DuelResult(duel=1, submissions=(ANN, BOB), points=(5, 11), scores=(-1.5, 1.5))
    assert result.winner == BOB


def test_equal_points_are_decided_by_score_and_equal_scores_are_a_draw() -> None:
    assert DuelResult(1, (ANN, BOB), (4, 4), (-100.0, 100.0)).winner == BOB
    assert DuelResult(1, (ANN, BOB), (4, 4), (2.0, 2.0)).winner is None
    # Points come first, whatever the scores say.
    assert DuelResult(1, (ANN, BOB), (5, 4), (-100.0, 100.0)).winner == ANN


def test_the_order_in_which_scores_were_added_up_decides_nothing() -> None:
    assert DuelResult(1, (ANN, BOB), (4, 4), (0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1)).winner is None


def test_the_table_is_ordered_by_points_then_wins_then_total_score() -> None:
    results = [
        won(1, ANN, BOB, score=5),
        won(2, BOB, CY, score=9),
        drawn(3, CY, DEE),
        won(4, ANN, DEE, score=1),
        drawn(5, BOB, DEE),
    ]
    assert standings([ANN, BOB, CY, DEE], results) == [
        Standing(submission=ANN, rank=1, points=4, wins=2, draws=0, losses=0, total_score=6.0),
        Standing(submission=BOB, rank=2, points=3, wins=1, draws=1, losses=1, total_score=4.0),
        Standing(submission=DEE, rank=3, points=2, wins=0, draws=2, losses=1, total_score=-1.0),
        Standing(submission=CY, rank=4, points=1, wins=0, draws=1, losses=1, total_score=-9.0),
    ]


def test_wins_break_equal_points_before_scores_do() -> None:
    results = [won(1, ANN, CY, score=1), drawn(2, BOB, CY), DuelResult(3, (BOB, DEE), (3, 3), (7.0, 7.0))]
    assert [row.submission for row in standings([BOB, ANN], results)] == [ANN, BOB]


def test_ties_share_a_rank_and_leave_a_gap() -> None:
    results = [won(1, ANN, CY), won(2, BOB, DEE)]
    assert [(row.submission, row.rank) for row in standings([ANN, BOB, CY, DEE], results)] == [
        (ANN, 1),
        (BOB, 1),
        (CY, 3),
        (DEE, 3),
    ]


def test_before_the_first_duel_all_share_the_first_rank() -> None:
    rows = standings([BOB, ANN], [])
    assert [(row.submission, row.rank, row.points) for row in rows] == [(ANN, 1, 0), (BOB, 1, 0)]
    assert standings([], []) == []


@st.composite
def tournaments(draw: st.DrawFn) -> tuple[list[int], list[DuelResult]]:
    count = draw(st.integers(min_value=2, max_value=8))
    points = st.tuples(st.integers(0, 4), st.integers(0, 4))
    scores = st.tuples(st.sampled_from([-1.0, 0.0, 1.0]), st.sampled_from([-1.0, 0.0, 1.0]))
    pairs = enumerate(combinations(range(count), 2))
    return list(range(count)), [DuelResult(number, pair, draw(points), draw(scores)) for number, pair in pairs]


@given(tournaments())
def test_tables_add_up_whatever_the_order_of_the_results(
    played: tuple[list[int], list[DuelResult]],
) -> None:
    participants, results = played
    rows = standings(participants, results)

    assert rows == standings(participants, reversed(results))
    assert sum(row.points for row in rows) == 2 * len(results)
    assert sum(row.wins for row in rows) == sum(row.losses for row in rows)
    assert all(row.wins + row.draws + row.losses == len(participants) - 1 for row in rows)
    for place, row in enumerate(rows):
        better = [other for other in rows if (other.points, other.wins, other.total_score)
                  > (row.points, row.wins, row.total_score)]  # fmt: skip
        assert row.rank == len(better) + 1
        assert row.rank <= place + 1
    assert all(one.rank <= two.rank for one, two in pairwise(rows))
