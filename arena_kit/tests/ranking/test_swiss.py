from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_kit.ranking.formats import Decision, DuelOrder, DuelState, History, Plan, Swiss
from arena_kit.ranking.formats.swiss import gain
from arena_kit.ranking.pairing import SwissPlayer, swiss_round
from arena_kit.tests.ranking.format_samples import by_chance, participants, play_on, played, record, stronger_wins

few = settings(max_examples=20, deadline=None)
counts = st.integers(2, 18)
seeds = st.integers(0, 999)


def last_plan(count: int, seed: int, rounds: int | None = None) -> Plan:
    return play_on(Swiss(rounds=rounds), participants(count), by_chance(seed))[1][-1]


@few
@given(counts, seeds, st.booleans())
def test_no_pair_meets_twice_and_each_plays_or_rests_once_in_every_round(count: int, seed: int, long: bool) -> None:
    rounds = max(1, count // 2) if long else (count - 1).bit_length()
    plan = last_plan(count, seed, rounds)
    # Up to half as many rounds as participants none is left out.
    assert len(plan.stages[0].rounds) == rounds
    assert not plan.notes
    pairs = [frozenset(meeting.players) for meeting in plan.meetings]
    assert len(set(pairs)) == len(pairs)
    for meetings in plan.stages[0].rounds:
        players = Counter(who for meeting in meetings for who in meeting.players)
        assert players == Counter([*participants(count), *([None] if count % 2 else [])])
    assert max(Counter(meeting.winner for meeting in plan.meetings if meeting.decision is Decision.BYE).values(),
               default=0) <= 1  # fmt: skip


@few
@given(counts, seeds)
def test_seats_differ_by_two_at_most(count: int, seed: int) -> None:
    plan = last_plan(count, seed)
    balance: Counter[int | None] = Counter()
    for meeting in plan.meetings:
        if meeting.decision is not Decision.BYE:
            balance[meeting.players[0]] += 1
            balance[meeting.players[1]] -= 1
        assert all(abs(value) <= 2 for value in balance.values())


@few
@given(st.integers(3, 9), seeds)
def test_a_tournament_with_as_many_rounds_as_can_be_ends_early_rather_than_have_two_meet_again(
    count: int, seed: int
) -> None:
    plan = last_plan(count, seed, count - 1)
    pairs = [frozenset(meeting.players) for meeting in plan.meetings]
    assert len(set(pairs)) == len(pairs)
    done = len(plan.stages[0].rounds)
    assert bool(plan.notes) == (done < count - 1)
    assert done >= count // 2


def test_an_early_end_is_said() -> None:
    # Of six, 1 4 5 and 2 3 6 may have met all of the other three: then no opponents are left for the last two rounds.
    plans = [last_plan(6, seed, 5) for seed in range(30)]
    assert {plan.notes for plan in plans if plan.notes} <= {
        (f"Ended after {done} of 5 rounds: no pairing is left without a second meeting.",) for done in (3, 4)
    }
    assert any(plan.notes for plan in plans)


def players_of(state: Sequence[tuple[int, int, int, int]], met: Sequence[tuple[int, int]]) -> tuple[SwissPlayer, ...]:
    opponents: list[set[int]] = [set() for _ in state]
    for one, other in met:
        if one != other and one < len(state) and other < len(state):
            opponents[one].add(other)
            opponents[other].add(one)
    return tuple(
        SwissPlayer(*values[:3], frozenset(against), values[3])
        for values, against in zip(state, opponents, strict=True)
    )


def pairings(places: tuple[int, ...]) -> Iterator[list[tuple[int, int | None]]]:
    """All ways to pair all players; if their number is odd, one has a bye."""
    if len(places) % 2:
        for rest in places:
            for pairs in pairings(tuple(place for place in places if place != rest)):
                yield [*pairs, (rest, None)]
    elif not places:
        yield []
    else:
        for other in places[1:]:
            for pairs in pairings(tuple(place for place in places[1:] if place != other)):
                yield [(places[0], other), *pairs]


def badness(players: Sequence[SwissPlayer], pairs: Sequence[tuple[int, int | None]]) -> tuple[int, ...]:
    """What a pairing should keep low, the weightiest first."""
    rest, breaches, floats, seats = 0, 0, 0, 0
    ranked = sorted(range(len(players)), key=lambda place: (-players[place].points, place))
    rank = {place: number for number, place in enumerate(ranked)}
    for one, other in pairs:
        if other is None:
            rest = len(players) - rank[one]
            continue
        balances = players[one].balance, players[other].balance
        breaches += balances in {(2, 2), (-2, -2)}
        floats += (players[one].points - players[other].points) ** 2
        seats += min(abs(balances[0]), abs(balances[1])) ** 2 if balances[0] * balances[1] > 0 else 0
    return rest, breaches, floats, seats


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(-2, 2), st.integers(0, 1), st.integers(-1, 1)), min_size=2, max_size=7
    ),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12),
)
def test_no_allowed_pairing_is_better(state: list[tuple[int, int, int, int]], met: list[tuple[int, int]]) -> None:
    players = players_of(state, met)
    fewest = min(player.byes for player in players)
    allowed = [
        badness(players, pairs)
        for pairs in pairings(tuple(range(len(players))))
        if not any(
            players[one].byes > fewest if other is None else other in players[one].opponents for one, other in pairs
        )
    ]
    found = swiss_round(players)
    if found is None:
        assert not allowed
    else:
        assert badness(players, found) == min(allowed)


def test_the_first_round_is_the_upper_half_against_the_lower_with_seats_in_turns() -> None:
    assert swiss_round((SwissPlayer(),) * 6) == ((0, 3), (4, 1), (2, 5))
    assert swiss_round((SwissPlayer(),) * 5) == ((0, 2), (3, 1), (4, None))


@pytest.mark.parametrize("count", [100, 101])
def test_a_large_field_is_paired_as_a_small_one(count: int) -> None:
    half = count // 2
    first = swiss_round((SwissPlayer(),) * count)
    assert first is not None
    assert {frozenset(pair) for pair in first[:half]} == {frozenset((place, place + half)) for place in range(half)}
    # Two groups of points, in each of which no two have met: no player has to leave their own.
    groups = tuple(SwissPlayer(points=2 * (place < half), balance=1 - 2 * (place % 2)) for place in range(2 * half))
    second = swiss_round(groups)
    assert second is not None
    assert {(groups[one].points, groups[other or 0].points) for one, other in second} <= {(2, 2), (0, 0)} or half % 2
    assert badness(groups, second)[1:] == (0, 4 * (half % 2), 0)


def test_in_a_large_field_the_search_widens_until_all_are_paired() -> None:
    # All players have met all who are near in rank and near the ideal.
    count = 80
    players = tuple(
        SwissPlayer(opponents=frozenset(other for other in range(count) if 0 < abs(other - place) <= 60))
        for place in range(count)
    )
    assert swiss_round(players) is None
    allowed = range(9, 21)
    players = tuple(
        SwissPlayer(opponents=frozenset(other for other in range(count) if abs(other - place) not in allowed))
        for place in range(count)
    )
    found = swiss_round(players)
    assert found is not None
    assert all(abs(one - (other or 0)) in allowed for one, other in found)


def test_who_floated_down_does_not_do_so_again() -> None:
    # Three leaders, and one too many: the last of them has floated down in the round before.
    leaders = (SwissPlayer(4), SwissPlayer(4), SwissPlayer(4, floated=1))
    found = swiss_round((*leaders, SwissPlayer(2), SwissPlayer(0), SwissPlayer(0)))
    assert found is not None
    assert {frozenset(pair) for pair in found} == {frozenset((0, 2)), frozenset((1, 3)), frozenset((4, 5))}


def test_a_round_stays_as_it_was_drawn_also_when_one_of_its_duels_is_struck() -> None:
    who = participants(4)
    drawn = (record(1, (who[0], who[1])), record(1, (who[3], who[2])))
    plan = Swiss().plan(History(who, drawn))
    assert [meeting.players for meeting in plan.meetings] == [(101, 102), (104, 103)]
    # One was struck: however they were drawn, these two meet, and the other duel stands.
    plan = Swiss().plan(History(who, drawn[:1]))
    assert [meeting.players for meeting in plan.meetings] == [(101, 102), (103, 104)]
    assert [order.players for order in plan.play] == [(103, 104)]
    assert not plan.stale


def test_what_was_played_before_one_withdraws_stands_and_the_rest_is_a_walkover() -> None:
    who = participants(5)
    duels, plans = play_on(Swiss(), who, stronger_wins, until=lambda plan: plan.round == 2)
    _, plans = play_on(Swiss(), who, stronger_wins, duels, {101: 2})
    rounds = plans[-1].stages[0].rounds
    won = {meeting.winner: meeting.decision for meeting in rounds[1]}
    assert rounds[0][0].winner == 101
    assert Decision.WALKOVER in won.values()
    assert not any(101 in meeting.players for meeting in rounds[2])
    assert len(rounds[2]) == 2


@pytest.mark.parametrize(
    ("states", "before", "points"), [([DuelState.VOID] * 3, {}, (1, 1)), ([], {103: 1}, (2, 0))], ids=["void", "gone"]
)
def test_points_without_a_result_stay_when_a_player_leaves_later(
    states: list[DuelState], before: dict[int, int], points: tuple[int, int]
) -> None:
    who = participants(6)
    one, other = 106, 103
    opening = [record(1, (one, other), state) for state in states]
    duels, _ = play_on(Swiss(), who, stronger_wins, opening, before, until=lambda plan: plan.round == 3)
    plan = Swiss().plan(History(who, tuple(duels), {**before, one: 2}, seed=7))
    assert not plan.stale
    first = next(meeting for meeting in plan.stages[0].rounds[0] if set(meeting.players) == {one, other})
    assert (gain(first, one), gain(first, other)) == points


def test_a_tournament_ends_when_only_one_is_left() -> None:
    who = participants(4)
    plan = Swiss(rounds=3).plan(History(who, (), {101: 0, 102: 0, 103: 0}))
    assert plan.is_finished
    assert plan.notes == ("Ended after 0 of 3 rounds: too few participants are left.",)
    assert plan.table.rows[0].participant == 104


def test_tie_breaks_of_a_tournament_worked_by_hand() -> None:
    who = participants(5)
    rounds = [
        [((101, 103), 2), ((102, 104), 1)],  # 105 rests
        [((105, 101), 0), ((103, 102), 2)],  # 104 rests
    ]
    duels = [
        played(DuelOrder(number, pair, 1, 0), points)
        for number, pairs in enumerate(rounds, 1)
        for pair, points in pairs
    ]
    plan = Swiss(rounds=2).plan(History(who, tuple(duels)))
    # Points 4, 1, 2, 3, 2. A bye counts as against a dummy with one's own points, 2 (two draws) at the most.
    assert {row.participant: (row.rank, row.values) for row in plan.table.rows} == {
        101: (1, (4, 2 + 2, 2 + 2)),
        104: (2, (3, 1 + 2, 0.5 + 2)),
        105: (3, (2, 2 + 4, 2 + 0)),
        103: (4, (2, 4 + 1, 0 + 1)),
        102: (5, (1, 3 + 2, 1.5 + 0)),
    }


def test_tie_breaks_of_players_that_met_one_that_withdrew() -> None:
    who = participants(4)
    one = record(1, (101, 103), DuelState.PLAYED, (0, 2))
    two = record(1, (104, 102), DuelState.PLAYED, (0, 2))
    # 103 leaves when round 1 is over: in its opponent's tie-breaks round 2 counts as a draw of theirs.
    plan = Swiss(rounds=2).plan(History(who, (one, two), {103: 1}))
    values = {row.participant: row.values for row in plan.table.rows}
    assert values[101][1] == 2 + 1
    # 103 leaves during round 2: a walkover counts as against a dummy, no better than who was absent.
    drawn = (record(2, (102, 103)), record(2, (101, 104), DuelState.PLAYED, (2, 0)))
    plan = Swiss(rounds=2).plan(History(who, (one, two, *drawn), {103: 2}))
    values = {row.participant: row.values for row in plan.table.rows}
    assert list(values[102]) == [4, 0 + 2, 0 + 2]
    assert [meeting.decision for meeting in plan.meetings].count(Decision.WALKOVER) == 1


def test_a_draw_of_points_is_decided_by_scores() -> None:
    who = participants(2)
    drawn = record(1, (102, 101), DuelState.PLAYED, (2, 2), (0.5, -0.5))
    plan = Swiss().plan(History(who, (drawn,)))
    assert [meeting.winner for meeting in plan.meetings] == [102]
