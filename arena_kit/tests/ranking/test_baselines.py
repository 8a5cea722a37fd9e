"""Baselines of formats: they play, and no rank depends on them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from arena_kit.ranking.formats import FORMATS, CountedDuel, DuelState, Format, History, Impossible, RoundRobin
from arena_kit.ranking.formats.ranking import BASELINE, WITHDRAWN, standings_of
from arena_kit.tests.ranking.format_samples import by_chance, participants, played

SIX, TWO = participants(8)[:6], participants(8)[6:]


def history(form: Format, seed: int) -> History:
    """A tournament of six with two baselines, played to its end."""
    start = History(participants=SIX + TWO, baselines=frozenset(TWO), seed=seed)
    judge, plan = by_chance(seed), form.plan(start)
    done = replace(start, duels=tuple(played(order, judge(order)) for order in plan.play))
    assert form.plan(done).is_finished
    return done


def recounted(who: int, duels: tuple[CountedDuel, ...], among: tuple[int, ...]) -> tuple[int, int]:
    """Points and wins of a participant in the meetings with these others, counted from single duels."""
    points = wins = 0
    for one, other in combinations(among, 2):
        if who in (one, other):
            own = sum(duel.points[duel.players.index(who)] for duel in duels if set(duel.players) == {one, other})
            theirs = sum(sum(duel.points) for duel in duels if set(duel.players) == {one, other}) - own
            points += 2 * (own > theirs) + (own == theirs)
            wins += own > theirs
    return points, wins


@pytest.mark.parametrize("legs", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_the_table_is_that_of_the_six_without_the_duels_of_the_baselines(seed: int, legs: int) -> None:
    form = RoundRobin(legs=legs)
    done = history(form, seed)
    plan = form.plan(done)
    assert len(done.duels) == 28 * legs
    rows = {row.participant: row for row in plan.table.rows}
    figures = {row.submission: row for row in standings_of(plan, done.baselines)}
    counted = {who: recounted(who, done.duels, SIX) for who in SIX}
    if legs == 1:
        assert {who: rows[who].values[:2] for who in SIX} == counted
    for who in SIX:
        better = sum(rows[other].values > rows[who].values for other in SIX)
        assert rows[who].rank == 1 + better
        assert (figures[who].points, figures[who].wins) == rows[who].values[:2]
        assert figures[who].wins + figures[who].draws + figures[who].losses == 5 * legs
    assert [row.participant for row in plan.table.rows[6:]] == list(TWO)
    for who in TWO:
        assert rows[who].notes == (BASELINE,)
        assert rows[who].rank == 7
        assert figures[who].wins + figures[who].draws + figures[who].losses == 7 * legs
        if legs == 1:
            assert rows[who].values[:2] == recounted(who, done.duels, SIX + TWO)


def test_those_who_withdraw_stand_above_the_baselines_and_annul_their_meetings() -> None:
    form = RoundRobin()
    done = history(form, 3)
    plan = form.plan(replace(done, left={SIX[0]: 7, TWO[0]: 7}))
    rows = {row.participant: row for row in plan.table.rows}
    assert (rows[SIX[0]].rank, rows[SIX[0]].notes) == (6, (WITHDRAWN,))
    assert (rows[TWO[0]].rank, rows[TWO[0]].values, rows[TWO[0]].notes) == (7, (0, 0, 0), (BASELINE, WITHDRAWN))
    without = form.plan(replace(done, left={SIX[0]: 7}))
    assert [row for row in without.table.rows if row.participant in SIX] == [
        row for row in plan.table.rows if row.participant in SIX
    ]


def test_an_open_meeting_with_a_baseline_is_waited_for() -> None:
    form = RoundRobin()
    done = history(form, 1)
    last = next(duel for duel in done.duels if set(duel.players) == {SIX[0], TWO[0]})
    waiting = tuple(
        duel if duel != last else CountedDuel(duel.key, duel.round, duel.players, DuelState.OPEN) for duel in done.duels
    )
    assert not form.plan(replace(done, duels=waiting)).is_finished


@pytest.mark.parametrize("kind", sorted(slug for slug, kind in FORMATS.items() if not kind.takes_baselines))
def test_formats_whose_meetings_decide_about_others_take_none(kind: str) -> None:
    form = FORMATS[kind]()
    form.check(16)
    with pytest.raises(Impossible, match="takes no baselines") as refusal:
        form.check(16, 1)
    assert refusal.value.field == "baselines"


def test_baselines_are_no_participants_but_add_meetings() -> None:
    with pytest.raises(Impossible, match="at least 2 participants, but there are 1"):
        RoundRobin().check(1, 5)
    RoundRobin().check(100)
    with pytest.raises(Impossible, match="5050 meetings"):
        RoundRobin().check(100, 1)
    with pytest.raises(ValueError, match="does not take part"):
        History(participants=SIX, baselines=frozenset(TWO))
