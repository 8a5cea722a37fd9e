from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_kit.ranking.formats import (
    Decision,
    DoubleElimination,
    DuelState,
    GroupsKnockOut,
    History,
    Meeting,
    Plan,
    SingleElimination,
)
from arena_kit.ranking.formats.groups import qualifiers
from arena_kit.ranking.pairing import seed_order, snake
from arena_kit.tests.ranking.format_samples import by_chance, participants, play_on, played, record, stronger_wins

few = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 999)
REAL = (Decision.PLAYED, Decision.EXTENDED, Decision.BETTER_SEED)


def real(plan: Plan) -> list[Meeting]:
    """Meetings that were decided by playing."""
    return [meeting for meeting in plan.meetings if meeting.decision in REAL]


@few
@given(st.integers(2, 40), seeds)
def test_all_but_one_lose_once_in_single_elimination(count: int, seed: int) -> None:
    plan = play_on(SingleElimination(), participants(count), by_chance(seed))[1][-1]
    losers = Counter(meeting.loser for meeting in real(plan))
    assert losers == Counter(set(participants(count)) - {plan.table.rows[0].participant})
    assert plan.table.rows[0].rank == 1


@few
@given(st.integers(3, 24), seeds)
def test_all_but_one_lose_twice_in_double_elimination(count: int, seed: int) -> None:
    plan = play_on(DoubleElimination(), participants(count), by_chance(seed))[1][-1]
    champion = plan.table.rows[0].participant
    losers = Counter(meeting.loser for meeting in real(plan))
    assert len(real(plan)) == 2 * count - 2 + losers[champion]
    assert losers[champion] <= 1
    assert all(losers[who] == 2 for who in participants(count) if who != champion)
    assert [row.rank for row in plan.table.rows][:4] == [1, 2, 3, 4][:count]


@pytest.mark.parametrize("count", range(3, 34))
def test_the_best_meet_last_when_the_stronger_wins(count: int) -> None:
    who = participants(count)
    single = play_on(SingleElimination(), who, stronger_wins)[1][-1]
    assert real(single)[-1].players == (101, 102)
    ranks = {row.participant: row.rank for row in single.table.rows}
    size = 1 << (count - 1).bit_length()
    # Ranks are those of the powers of two: 1, 2, 3 3, 5 5 5 5, ...
    assert ranks == {101 + seed: 1 if seed == 0 else 1 + (1 << (seed.bit_length() - 1)) for seed in range(count)}
    byes = set(who) - {player for meeting in single.meetings if meeting.round == 1 for player in meeting.players}
    assert byes == set(who[: size - count])
    double = play_on(DoubleElimination(), who, stronger_wins)[1][-1]
    assert [row.participant for row in double.table.rows][:3] == [101, 102, 103]
    assert {meeting.decision for meeting in double.meetings if meeting.key == "F2"} == {Decision.NOT_NEEDED}


@pytest.mark.slow
@few
@given(st.integers(3, 48), seeds)
def test_no_pair_meets_again_early_in_the_losers_bracket(count: int, seed: int) -> None:
    plan = play_on(DoubleElimination(), participants(count), by_chance(seed))[1][-1]
    rounds = (count - 1).bit_length()
    met: set[frozenset[int | None]] = set()
    for meeting in sorted(plan.meetings, key=lambda meeting: meeting.round):
        pair = frozenset(meeting.players)
        # Round r of the losers' bracket is round r + 1 of the tournament.
        if meeting.key.startswith("L") and meeting.round - 1 < rounds:
            assert pair not in met
        met.add(pair)


def test_the_grand_final_is_played_again_when_its_favourite_loses_it() -> None:
    who = participants(4)
    # The stronger wins, but in the grand final, the first meeting of 101 and 102 in round 4.
    plan = play_on(DoubleElimination(), who, lambda order: stronger_wins(order) if order.round != 4 else 0)[1][-1]
    first, again = (meeting for meeting in plan.meetings if meeting.key in {"F1", "F2"})
    assert (first.players, first.winner) == ((101, 102), 102)
    assert (again.round, set(again.players), again.winner) == (5, {101, 102}, 101)
    assert [row.rank for row in plan.table.rows] == [1, 2, 3, 4]


def test_a_level_meeting_is_extended_and_then_the_better_seed_goes_through() -> None:
    who = participants(2)
    form = SingleElimination(pairs=8, extension_pairs=3, extensions=2)
    level = tuple(record(1, (102, 101), DuelState.PLAYED, (8, 8)) for _ in range(3))
    asked = [form.plan(History(who, level[:count])).play for count in range(4)]
    assert [[order.pairs for order in orders] for orders in asked] == [[8], [3], [3], []]
    plan = form.plan(History(who, level))
    assert (plan.table.rows[0].participant, plan.table.rows[0].notes) == (
        101,
        ("Round 1: Still tied after all extensions: the better seed advances.",),
    )
    decided = form.plan(History(who, (level[0], record(1, (102, 101), DuelState.PLAYED, (4, 2)))))
    assert (decided.table.rows[0].participant, [row.decision for row in decided.meetings]) == (102, [Decision.EXTENDED])


def test_who_withdraws_loses_by_walkover_and_whom_they_have_beaten_stays_out() -> None:
    who = participants(8)
    duels, _ = play_on(SingleElimination(), who, stronger_wins, until=lambda plan: plan.round == 2)
    plan = play_on(SingleElimination(), who, stronger_wins, duels, {101: 2})[1][-1]
    assert [(row.participant, row.rank) for row in plan.table.rows][:2] == [(102, 1), (104, 2)]
    assert plan.table.rows[1].notes == ("Round 2: The opponent has withdrawn.",)
    assert (plan.table.rows[-1].participant, plan.table.rows[-1].rank) == (101, 8)


def test_when_both_have_withdrawn_the_next_one_has_a_walkover() -> None:
    who = participants(4)
    plan = play_on(SingleElimination(), who, stronger_wins, (), {101: 1, 104: 1})[1][-1]
    assert [(row.participant, row.rank) for row in plan.table.rows] == [(102, 1), (103, 2), (101, 3), (104, 3)]
    final = next(meeting for meeting in plan.meetings if meeting.round == 2)
    assert (final.decision, final.winner) == (Decision.WALKOVER, 102)


@pytest.mark.parametrize(
    ("state", "count", "before"),
    [(DuelState.PLAYED, 6, {}), (DuelState.VOID, 3, {}), (DuelState.OPEN, 0, {104: 1}), (DuelState.OPEN, 0, {101: 2})],
    ids=["better seed", "unplayable", "walkover of the better seed", "walkover of the other"],
)
def test_who_goes_through_without_a_result_has_done_so_for_good(
    state: DuelState, count: int, before: dict[int, int]
) -> None:
    who = participants(4)
    opening = [record(1, (101, 104), state, (1, 1)) for _ in range(count)]
    duels, plans = play_on(SingleElimination(), who, stronger_wins, opening, before)
    through = plans[-1].stages[0].rounds[0][0].winner
    assert through is not None
    # All others have a result, and the final as well: a participant who leaves now takes nothing back.
    after = SingleElimination().plan(History(who, tuple(duels), {**before, through: 2}, seed=7))
    assert after.stages[0].rounds[0][0] == plans[-1].stages[0].rounds[0][0]
    assert not after.stale
    assert after.stages[0].rounds[1] == plans[-1].stages[0].rounds[1]


def test_the_third_place_is_played_for() -> None:
    who = participants(8)
    plan = play_on(SingleElimination(third_place=True), who, stronger_wins)[1][-1]
    assert [(row.participant, row.rank) for row in plan.table.rows][:4] == [(101, 1), (102, 2), (103, 3), (104, 4)]
    third = next(meeting for meeting in plan.meetings if meeting.key == "T")
    assert {source.kind for source in third.sources if source} == {"loser"}


def test_a_bracket_seeds_the_first_against_the_last() -> None:
    assert seed_order(8) == [0, 7, 3, 4, 1, 6, 2, 5]


@given(st.integers(1, 200), st.integers(1, 30))
def test_the_snake_deals_everybody_and_groups_are_even(count: int, groups: int) -> None:
    dealt = snake(count, groups)
    assert sorted(seed for group in dealt for seed in group) == list(range(count))
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    if count % (2 * groups) == 0:
        assert len({sum(group) for group in dealt}) == 1


@pytest.mark.parametrize("groups", range(2, 17))
@pytest.mark.parametrize("advance", [1, 2, 3, 4])
def test_group_mates_meet_late(groups: int, advance: int) -> None:
    seeding = qualifiers(groups, advance)
    assert sorted(seeding) == [(group, place) for group in range(groups) for place in range(advance)]
    assert [place for _, place in seeding] == [place for place in range(advance) for _ in range(groups)]
    size = 1 << (len(seeding) - 1).bit_length()
    parts: dict[int, list[int]] = {}
    for place, seed in enumerate(seed_order(size)):
        if seed < len(seeding):
            group, rank = seeding[seed]
            if rank < 2:
                parts.setdefault(group, []).append(2 * place // size)
    # The first and the second of a group are in different halves: they can meet in the final only.
    assert all(len(set(halves)) == len(halves) for halves in parts.values())


@few
@given(st.integers(2, 4), st.integers(1, 3), st.integers(0, 5), seeds)
def test_the_best_of_each_group_go_on(groups: int, advance: int, more: int, seed: int) -> None:
    count = groups * (advance + 1) + more
    plan = play_on(GroupsKnockOut(groups=groups, advance=advance), participants(count), by_chance(seed))[1][-1]
    bracket = [meeting for meeting in plan.meetings if meeting.key.startswith("W")]
    best = {row.participant for stage in plan.stages[:groups] for row in stage.table.rows[:advance] if stage.table}  # type: ignore[union-attr]
    assert {who for meeting in bracket for who in meeting.players} == best
    assert {row.participant for row in plan.table.rows[: groups * advance]} == best
    assert min(meeting.round for meeting in bracket) > max(
        meeting.round for stage in plan.stages[:groups] for meeting in stage.meetings
    )


def test_until_the_groups_are_over_the_bracket_says_who_it_is_for() -> None:
    plan = GroupsKnockOut(groups=2, advance=2).plan(History(participants(6)))
    opening = [meeting for meeting in plan.meetings if meeting.key.startswith("W1")]
    assert [[source.of for source in meeting.sources if source] for meeting in opening] == [["A1", "B2"], ["B1", "A2"]]
    assert {meeting.players for meeting in opening} == {(None, None)}


def test_withdrawing_after_the_groups_changes_nothing_in_them() -> None:
    who = participants(6)
    form = GroupsKnockOut(groups=2, advance=2)
    duels, plans = play_on(form, who, stronger_wins, until=lambda plan: plan.round == 4)
    before = [stage.table for stage in plans[-1].stages[:2]]
    after = form.plan(History(who, tuple(duels), {101: 4}, seed=7))
    assert [stage.table for stage in after.stages[:2]] == before
    assert Decision.WALKOVER in {meeting.decision for meeting in after.meetings}
    earlier = form.plan(History(who, tuple(duels), {101: 2}, seed=7))
    assert [stage.table for stage in earlier.stages[:2]] != before


def test_a_group_meeting_struck_after_a_player_left_is_not_waited_for() -> None:
    who = participants(6)
    form = GroupsKnockOut(groups=2, advance=2)
    duels, _ = play_on(form, who, stronger_wins, until=lambda plan: plan.round == 4)
    rest = [duel for duel in duels if 101 not in duel.players or duel.round != 1]
    plan = form.plan(History(who, tuple(rest), {101: 4}, seed=7))
    assert not any(101 in order.players for order in plan.play)


def test_extensions_of_one_meeting_do_not_hold_up_another() -> None:
    who = participants(4)
    form = SingleElimination()
    orders = form.plan(History(who)).play
    plan = form.plan(History(who, tuple(played(order, 1 if index else 2) for index, order in enumerate(orders))))
    assert [order.players for order in plan.play] == [orders[1].players]
