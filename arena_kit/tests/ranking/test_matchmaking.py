from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_kit.ranking.matchmaking import (
    Candidate,
    ChosenPairs,
    MatchmakingRules,
    Pairing,
    Reason,
    choose_pairs,
    expected_score,
)

BEST = MatchmakingRules(noise=0.0, order_share=0.0)


def candidate(submission: int, rating: float = 1500.0, **changes: float) -> Candidate:
    """Of an owner of its own, not new."""
    return replace(Candidate(submission, 1000 + submission, rating, 50.0, 100, 0), **changes)  # type: ignore[arg-type]


def pair_of(pairing: Pairing) -> tuple[int, int]:
    return min(pairing.player_1, pairing.player_2), max(pairing.player_1, pairing.player_2)


def chosen(choice: ChosenPairs) -> list[tuple[int, int]]:
    return [pair_of(pairing) for pairing in choice.pairings]


# A chain of results through all candidates, so that none has to be joined.
def chain_of(count: int) -> dict[tuple[int, int], int]:
    return {(number, number + 1): 1 for number in range(count - 1)}


fields = st.lists(
    st.builds(
        Candidate, submission=st.just(0), owner=st.integers(0, 5), rating=st.floats(0, 3000),
        deviation=st.floats(0, 400), matches=st.integers(0, 40), waited=st.integers(0, 20),
    ),
    min_size=2, max_size=12,
).map(lambda drawn: [replace(one, submission=3 * number) for number, one in enumerate(drawn)])  # fmt: skip
meetings = st.dictionaries(
    st.tuples(st.integers(0, 11), st.integers(0, 14)).map(lambda ends: (3 * ends[0], 3 * ends[1] + 1 * (ends[1] > 11))),
    st.integers(0, 4), max_size=20,
).map(lambda met: {ends: count for ends, count in met.items() if ends[0] != ends[1]})  # fmt: skip
several = settings(max_examples=60)


@several
@given(fields, meetings, st.integers(0, 99), st.integers(1, 8))
def test_rules_hold_whatever_comes(
    field: list[Candidate], met: dict[tuple[int, int], int], seed: int, count: int
) -> None:
    rules = MatchmakingRules(pair_cap=3)
    choice = choose_pairs(field, met, count=count, seed=seed, rules=rules)
    owner = {one.submission: one.owner for one in field}

    def may_meet(one: int, other: int) -> bool:
        return owner[one] != owner[other] and met.get((one, other), 0) + met.get((other, one), 0) < rules.pair_cap

    pairs = chosen(choice)
    assert all(may_meet(*pair) for pair in pairs)
    players = list(chain.from_iterable(pairs))
    assert len(set(players)) == len(players)
    assert len(pairs) <= count
    # Nothing is left undone for which there is room, and what is lacking is explained.
    left = [pair for pair in combinations(sorted(set(owner) - set(players)), 2) if may_meet(*pair)]
    assert not left or len(pairs) == count
    assert bool(choice.shortfall) == (len(pairs) < count)
    assert all(0 < pairing.expected < 1 for pairing in choice.pairings)

    # Who has waited too long is first, the longest wait before all others.
    waited = {one.submission: one.waited for one in field}
    overdue = [
        one for one in owner if waited[one] > rules.longest_wait and any(may_meet(one, other) for other in owner)
    ]
    if overdue:
        assert choice.pairings[0].reason is Reason.WAITED
        assert max(waited[one] for one in pairs[0]) == max(waited[one] for one in overdue)


@several
@given(fields, meetings, st.integers(0, 99), st.randoms(use_true_random=False))
def test_the_same_seed_gives_the_same_pairs_in_whatever_order_candidates_come(
    field: list[Candidate], met: dict[tuple[int, int], int], seed: int, random: object
) -> None:
    once = choose_pairs(field, met, count=6, seed=seed)
    order = np.random.default_rng(seed + 1).permutation(len(field))
    assert choose_pairs([field[place] for place in order], met, count=6, seed=seed) == once


def test_other_seeds_give_other_pairs() -> None:
    field = [candidate(number) for number in range(12)]
    assert len({str(chosen(choose_pairs(field, chain_of(12), count=3, seed=seed))) for seed in range(5)}) == 5


def play(
    field: list[Candidate], rounds: int, count: int, rules: MatchmakingRules
) -> tuple[Counter[tuple[int, int]], list[int]]:
    """Rounds of choices as the ladder makes them; how often each pair met, and the longest wait in each round."""
    met: dict[tuple[int, int], int] = {}
    waited = dict.fromkeys((one.submission for one in field), 0)
    matches = dict.fromkeys(waited, 0)
    longest = []
    for number in range(rounds):
        now = [replace(one, waited=waited[one.submission], matches=matches[one.submission]) for one in field]
        choice = choose_pairs(now, met, count=count, seed=number, rules=rules)
        waited = {submission: wait + 1 for submission, wait in waited.items()}
        for pairing in choice.pairings:
            ends = (pairing.player_1, pairing.player_2)
            met[ends] = met.get(ends, 0) + 1
            for submission in ends:
                waited[submission] = 0
                matches[submission] += 2
        longest.append(max(waited.values()))
    both = Counter[tuple[int, int]]()
    for (one, other), times in met.items():
        both[min(one, other), max(one, other)] += times
    return both, longest


def test_no_agent_waits_for_ever_however_dull_its_matches() -> None:
    # Two far below all others, of which one is known very well.
    field = [candidate(number, 1500 + 10 * number) for number in range(12)]
    field += [candidate(20, 100, deviation=5), candidate(21, 0)]
    rules = MatchmakingRules(longest_wait=6, noise=0.0, new_below=0)
    _, longest = play(field, 80, 2, rules)
    assert rules.longest_wait < max(longest) <= rules.longest_wait + len(field) / 2


def test_pairs_meet_as_often_as_they_may_and_no_more() -> None:
    field = [candidate(number) for number in range(4)]
    both, _ = play(field, 30, 2, MatchmakingRules(pair_cap=3))
    assert both == dict.fromkeys(combinations(range(4), 2), 3)
    used_up = choose_pairs(field, dict.fromkeys(both, 3), count=1, seed=0, rules=MatchmakingRules(pair_cap=3))
    assert used_up == ChosenPairs((), "All pairs that may meet have reached the limit of 3 duels.")


def test_groups_are_joined_before_anything_else() -> None:
    # Two groups far apart: within a group results would tell more.
    field = [candidate(number, 1500.0) for number in range(3)] + [candidate(number, 400.0) for number in (3, 4, 5)]
    islands = {(0, 1): 5, (1, 2): 5, (3, 4): 5, (4, 5): 5}
    choice = choose_pairs(field, islands, count=3, seed=1, rules=BEST)
    assert choice.pairings[0].reason is Reason.JOINS
    assert {number < 3 for number in chosen(choice)[0]} == {True, False}
    # One is enough.
    assert [pairing.reason for pairing in choice.pairings[1:]] == [Reason.TELLS, Reason.TELLS]


def test_a_retired_submission_joins_those_who_played_it() -> None:
    through = {(0, 9): 1, (9, 1): 1}
    (pairing,) = choose_pairs([candidate(0), candidate(1)], through, count=1, seed=0).pairings
    assert pairing.reason is Reason.TELLS


@settings(max_examples=15)
@given(st.integers(0, 999), st.integers(2, 16), st.integers(1, 4))
def test_everybody_is_soon_in_one_group(seed: int, count: int, pairs: int) -> None:
    random = np.random.default_rng(seed)
    field = [candidate(number, float(random.normal(1500, 300))) for number in range(count)]
    # However few pairs there are at a time, each joins two groups: count - 1 joins are enough.
    both, _ = play(field, count, pairs, MatchmakingRules(new_below=0, longest_wait=1000))
    group = list(range(count))
    for one, other in both:
        group = [group[one] if name == group[other] else name for name in group]
    assert len(set(group)) == 1


def test_who_is_new_plays_first_and_until_it_is_not() -> None:
    field = [candidate(number) for number in range(8)]
    field[5] = candidate(5, deviation=300, matches=6)
    field[2] = candidate(2, deviation=300, matches=2)
    choice = choose_pairs(field, chain_of(8), count=3, seed=4, rules=replace(BEST, noise=0.1))
    assert choice.pairings[0].reason is Reason.NEW
    assert 2 in chosen(choice)[0]
    assert 5 in chosen(choice)[0] + chosen(choice)[1]
    assert choice.pairings[0].because == "Submission 2 is new: 2 matches so far."
    old = [replace(one, matches=20) for one in field]
    assert {pairing.reason for pairing in choose_pairs(old, chain_of(8), count=3, seed=4).pairings} == {Reason.TELLS}


def test_a_newcomer_without_any_match_is_called_new() -> None:
    field = [candidate(0), candidate(1), candidate(2, matches=0)]
    choice = choose_pairs(field, {(0, 1): 9}, count=1, seed=0)
    assert choice.pairings[0].reason is Reason.NEW
    assert 2 in chosen(choice)[0]


def test_what_tells_most_is_chosen() -> None:
    # Ratings 1500, 1510, 1900, 1905; the two upper ones are known better.
    field = [candidate(0, 1500), candidate(1, 1510), candidate(2, 1900, deviation=20), candidate(3, 1905, deviation=20)]
    choice = choose_pairs(field, chain_of(4), count=2, seed=0, rules=BEST)
    assert chosen(choice) == [(0, 1), (2, 3)]
    assert choice.pairings[0].because == (
        "This pair is likely to be the most informative one: the ratings are 10 apart, give or take 71, "
        "and the two have met 1 time."
    )


def test_for_the_order_of_ranks_settled_pairs_count_less() -> None:
    # 0 against 1 tells more about ratings, but who is better of them is long known.
    field = [candidate(0, 1500, deviation=60), candidate(1, 1750, deviation=60)]
    field += [candidate(2, 3000, deviation=40), candidate(3, 3001, deviation=40)]
    for_ratings = choose_pairs(field, chain_of(4), count=1, seed=0, rules=BEST)
    for_ranks = choose_pairs(field, chain_of(4), count=1, seed=0, rules=MatchmakingRules(noise=0.0, order_share=1.0))
    assert (chosen(for_ratings), chosen(for_ranks)) == ([(0, 1)], [(2, 3)])


def test_seats_change_with_every_meeting() -> None:
    field = [candidate(0), candidate(1)]
    met: dict[tuple[int, int], int] = {}
    for number in range(6):
        (pairing,) = choose_pairs(field, met, count=1, seed=number).pairings
        ends = (pairing.player_1, pairing.player_2)
        met[ends] = met.get(ends, 0) + 1
    assert met == {(0, 1): 3, (1, 0): 3}
    # Equal among themselves: who has been player_1 more often otherwise is player_2.
    (pairing,) = choose_pairs(field, {(0, 7): 2, (8, 1): 1}, count=1, seed=0).pairings
    assert (pairing.player_1, pairing.player_2) == (1, 0)


@pytest.mark.parametrize(
    ("field", "met", "words"),
    [
        ([], {}, "A duel needs two agents; 0 can play."),
        ([candidate(0)], {}, "A duel needs two agents; 1 can play."),
        ([candidate(0, owner=5), candidate(1, owner=5)], {}, "All agents that can play have the same owner"),
        ([candidate(0), candidate(1)], {(0, 1): 60, (1, 0): 40}, "reached the limit of 100 duels."),
    ],
)
def test_a_field_without_a_possible_meeting_says_why(
    field: list[Candidate], met: dict[tuple[int, int], int], words: str
) -> None:
    choice = choose_pairs(field, met, count=3, seed=0)
    assert choice.pairings == ()
    assert words in choice.shortfall


def test_who_is_left_over_is_explained() -> None:
    choice = choose_pairs([candidate(0), candidate(1), candidate(2)], {}, count=3, seed=0)
    assert len(choice.pairings) == 1
    assert choice.shortfall.startswith("The remaining agents have no opponent")


def test_nothing_is_asked_for_and_nothing_is_lacking() -> None:
    assert choose_pairs([candidate(0), candidate(1)], {}, count=0, seed=0) == ChosenPairs(())


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ([candidate(4), candidate(4)], "Submission 4 is named twice"),
        ([candidate(4, float("nan")), candidate(5)], "must be numbers"),
    ],
)
def test_candidates_that_make_no_sense_are_refused(field: list[Candidate], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        choose_pairs(field, {}, count=1, seed=0)


@pytest.mark.parametrize("wrong", [{"pair_cap": 0}, {"longest_wait": -1}, {"noise": -0.1}, {"order_share": 1.1}])
def test_rules_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must be allowed|can be negative|between 0 and 1"):
        MatchmakingRules(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("difference", "variance"), [(200, 100.0**2), (-350, 300.0**2), (0, 400.0**2), (800, 0)])
def test_expected_scores_are_those_of_many_draws(difference: float, variance: float) -> None:
    drawn = np.random.default_rng(1).normal(difference, variance**0.5, 20_000)
    mean = float((1 / (1 + 10 ** (-drawn / 400))).mean())
    assert expected_score(difference, variance) == pytest.approx(mean, abs=0.02)
    assert expected_score(-difference, variance) == pytest.approx(1 - expected_score(difference, variance))
