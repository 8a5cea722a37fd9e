"""Ties at the cut of a group are played out: the qualifiers are those of a recount that knows only the duels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_kit.ranking.formats import CountedDuel, DuelOrder, GroupsKnockOut, History, Plan
from arena_kit.ranking.pairing import snake
from arena_kit.tests.ranking.format_samples import by_chance, participants, play_on, played, record

FORM = GroupsKnockOut(groups=2, advance=2, pairs=4, extension_pairs=2)


def all_level(order: DuelOrder) -> int:
    return 1


def figures(duels: Sequence[CountedDuel], one: int, among: Sequence[int]) -> tuple[int, int]:
    """Return points of meetings and wins of one of `among`, in the duels among them."""
    own = [
        duel.points if duel.players[0] == one else duel.points[::-1]
        for duel in duels
        if one in duel.players and set(duel.players) <= set(among)
    ]
    wins = sum(mine > theirs for mine, theirs in own)
    return 2 * wins + sum(mine == theirs for mine, theirs in own), wins


def qualified(duels: Sequence[CountedDuel], members: Sequence[int], last: int, most: int) -> set[int]:
    """Return who goes on from a group, from its duels alone. members: by seeds. last: the last round of groups."""
    through: set[int] = set()
    there = list(members)
    for number in range(last, last + most + 1):
        some = [duel for duel in duels if (duel.round <= last if number == last else duel.round == number)]
        of = {one: figures(some, one, there) for one in there}
        worst = sorted(of.values(), reverse=True)[FORM.advance - len(through) - 1]
        through |= {one for one in there if of[one] > worst}
        there = [one for one in there if of[one] == worst]
        if len(through) + len(there) == FORM.advance:
            break
    return through | set(there[: FORM.advance - len(through)])


@settings(max_examples=60, deadline=None)
@given(st.integers(6, 12), st.integers(0, 10_000), st.integers(0, 3))
def test_an_independent_recount_finds_the_same_qualifiers(count: int, seed: int, most: int) -> None:
    form, who = replace(FORM, extensions=most), participants(count)
    duels, plans = play_on(form, who, by_chance(seed))
    groups = [[who[place] for place in seeds] for seeds in snake(count, 2)]
    largest = max(map(len, groups))
    last = largest - 1 + largest % 2
    bracket = next(stage for stage in plans[-1].stages if stage.key == "knock-out")
    first = min(meeting.round for meeting in bracket.meetings)
    before = [duel for duel in duels if duel.round < first]
    found = {one for meeting in bracket.rounds[0] for one in meeting.players}
    assert found == set().union(*(qualified(before, group, last, most) for group in groups))
    # No more extra duels than that: the last round of them had a tie before it.
    assert first - last - 1 <= most


def test_equals_meet_again_until_one_of_them_is_ahead() -> None:
    """Three equals in a group of three, for one place beside the first: all meet, then the two that are still level."""
    form = replace(FORM, advance=1)
    who = participants(6)
    group = [who[place] for place in snake(6, 2)[0]]

    def judge(order: DuelOrder) -> int:
        if set(order.players) <= set(group) and order.round == 4:
            # Only the last one loses, so that the other two are level.
            return 1 if group[2] not in order.players else 2 * (order.players[1] == group[2])
        if order.round == 5:
            return 2 * (order.players[0] == group[1])
        return 1 if set(order.players) <= set(group) else 2 * (order.players[0] < order.players[1])

    duels, plans = play_on(form, who, judge)
    assert [len([duel for duel in duels if duel.round == number]) for number in (4, 5, 6)] == [3, 1, 1]
    stage = next(stage for stage in plans[-1].stages if stage.key == "cut-group-A")
    table = next(stage.table for stage in plans[-1].stages if stage.key == "group-A")
    assert stage.table is not None
    assert table is not None
    assert [(row.participant, row.rank) for row in stage.table.rows] == [(group[1], 1), (group[0], 2), (group[2], 2)]
    assert [(row.participant, row.rank) for row in table.rows] == [(group[1], 1), (group[0], 2), (group[2], 2)]
    assert table.rows[0].notes == ("Equal at the cut, then qualified by extra duels.",)
    # Other openings than in the group, and in each round others.
    pair = {group[0], group[1]}
    orders = [order for plan in plans for order in plan.play if set(order.players) == pair]
    assert [(order.round, order.pairs, order.encounter) for order in orders if order.round > 3] == [
        (4, 2, 100), (5, 2, 200)
    ]  # fmt: skip


@pytest.mark.parametrize(("most", "by_seed"), [(3, False), (0, False), (3, True)])
def test_the_better_seed_goes_on_when_all_extra_duels_are_level(most: int, by_seed: bool) -> None:
    form = replace(FORM, extensions=most, cut_by_seed=by_seed)
    duels, plans = play_on(form, participants(6), lambda order: 1 if order.round <= 6 else 2)
    extra = 0 if by_seed else most
    # Two groups of three, all level: three duels in each round of each group.
    assert len([duel for duel in duels if 3 < duel.round <= 3 + extra]) == 6 * extra
    table = next(stage.table for stage in plans[-1].stages if stage.key == "group-A")
    assert table is not None
    assert [row.participant for row in table.rows] == [101, 104, 105]
    said = ("Still tied after all extensions: the better seed advances.",)
    assert [row.notes for row in table.rows] == [said, said, ()]


def test_leaving_during_extra_duels_frees_the_place() -> None:
    who = participants(6)
    duels, _ = play_on(FORM, who, all_level, until=lambda plan: plan.round == 4)
    left = {101: 4}
    kept, plans = play_on(FORM, who, all_level, duels, left)
    assert not [duel for duel in kept if duel.round > 3 and 101 in duel.players]
    bracket = next(stage for stage in plans[-1].stages if stage.key == "knock-out")
    assert {one for meeting in bracket.rounds[0] for one in meeting.players} == {104, 105, 102, 103}


def test_leaving_after_extra_duels_changes_nothing_in_them() -> None:
    who = participants(6)

    def is_bracket(plan: Plan) -> bool:
        return any(stage.key == "knock-out" and stage.rounds[0][0].players[0] for stage in plan.stages)

    duels, plans = play_on(FORM, who, all_level, until=is_bracket)
    before = plans[-1]
    drawn = [record(order.round, order.players) for order in before.play]
    last = max(duel.round for duel in drawn)
    after = FORM.plan(History(who, (*duels, *drawn), {101: last}, seed=7))
    assert [stage.rounds for stage in after.stages[:4]] == [stage.rounds for stage in before.stages[:4]]


def test_extra_duels_wait_until_every_group_is_over() -> None:
    who = participants(6)
    orders = FORM.plan(History(who, seed=7)).play
    one_open = orders[-1]
    duels = [played(order, 1) for order in orders[:-1]]
    plan = FORM.plan(History(who, (*duels, record(one_open.round, one_open.players)), seed=7))
    assert not plan.play
