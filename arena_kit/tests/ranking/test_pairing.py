from __future__ import annotations

from collections import Counter
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.ranking.pairing import round_robin

counts = st.integers(min_value=2, max_value=60)


@given(counts)
def test_every_pair_meets_exactly_once(count: int) -> None:
    met = [tuple(sorted(pair)) for pair in chain.from_iterable(round_robin(count))]
    assert sorted(met) == list(combinations(range(count), 2))


@given(counts)
def test_each_plays_once_in_a_round_and_at_most_one_rests(count: int) -> None:
    rounds = round_robin(count)
    assert len(rounds) == (count if count % 2 else count - 1)
    for pairs in rounds:
        players = list(chain.from_iterable(pairs))
        assert len(set(players)) == len(players) == count - count % 2


@given(counts)
def test_each_is_player_1_in_half_of_its_duels(count: int) -> None:
    first = Counter(one for one, _ in chain.from_iterable(round_robin(count)))
    duels = count - 1
    assert {first[player] for player in range(count)} <= {duels // 2, duels - duels // 2}


@given(counts.filter(lambda count: count % 2 == 1))
def test_with_an_odd_count_everybody_rests_once(count: int) -> None:
    rests = [set(range(count)) - set(chain.from_iterable(pairs)) for pairs in round_robin(count)]
    assert sorted(chain.from_iterable(rests)) == list(range(count))


@pytest.mark.parametrize(
    ("count", "rounds"),
    [
        (0, []),
        (1, []),
        (2, [[(0, 1)]]),
        (3, [[(1, 2)], [(0, 1)], [(2, 0)]]),
        (4, [[(0, 3), (1, 2)], [(0, 1), (2, 3)], [(2, 0), (3, 1)]]),
    ],
)
def test_small_tournaments(count: int, rounds: list[list[tuple[int, int]]]) -> None:
    assert round_robin(count) == rounds
