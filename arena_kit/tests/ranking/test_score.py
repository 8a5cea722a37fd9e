"""Tournaments by score: who is evaluated when, and the table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arena_kit.ranking.formats import (
    FORMATS,
    ByScore,
    CountedScore,
    DuelState,
    History,
    Impossible,
    Plan,
    format_fit,
    format_make,
)
from arena_kit.ranking.formats.ranking import BASELINE, WITHDRAWN, standings_of

FOUR = History((1, 2, 3, 4))


def scored(who: int, mean: float) -> CountedScore:
    return CountedScore(who, DuelState.PLAYED, (mean, mean - 1, mean + 1))


def ranks(plan: Plan) -> dict[int, int]:
    return {row.participant: row.rank for row in plan.table.rows}


def test_each_participant_is_evaluated_once() -> None:
    plan = ByScore().plan(FOUR)
    assert (plan.evaluate, plan.evaluated, plan.is_finished) == ((1, 2, 3, 4), (), False)
    begun = replace(FOUR, scores=(CountedScore(1), CountedScore(2), scored(3, 5.0)))
    plan = ByScore().plan(begun)
    assert (plan.evaluate, plan.evaluated) == ((4,), (1, 2))
    assert ranks(plan) == {3: 1, 1: 2, 2: 2, 4: 2}


def test_equal_means_share_a_rank_whatever_their_intervals_are() -> None:
    scores = (scored(1, 0.1 + 0.2), CountedScore(2, DuelState.PLAYED, (0.3, 0.0, 1.0)), scored(3, 9.0), scored(4, -7.0))
    plan = ByScore().plan(replace(FOUR, scores=scores))
    assert plan.is_finished
    assert ranks(plan) == {3: 1, 1: 2, 2: 2, 4: 4}
    assert plan.table.columns == ("Mean score", "95% from", "95% to")
    assert plan.table.rows[0].values == (9.0, 8.0, 10.0)
    figures = {row.submission: row for row in standings_of(plan)}
    assert (figures[3].score, figures[3].score_low, figures[3].score_high) == (9.0, 8.0, 10.0)


def test_an_agent_that_fails_stands_below_the_worst_score_with_a_sentence() -> None:
    failed = CountedScore(1, DuelState.PLAYED, failure="It took too long.")
    plan = ByScore().plan(replace(FOUR, scores=(failed, scored(2, -1e9), scored(3, 1.0), scored(4, 2.0))))
    assert plan.is_finished
    assert ranks(plan) == {4: 1, 3: 2, 2: 3, 1: 4}
    assert (plan.table.rows[-1].values, plan.table.rows[-1].notes) == ((), ("No score. It took too long.",))


def test_what_the_arena_fails_is_tried_three_times() -> None:
    void, others = CountedScore(1, DuelState.VOID), tuple(scored(who, 1.0) for who in (2, 3, 4))
    for count in (1, 2):
        assert ByScore().plan(replace(FOUR, scores=(*others, *[void] * count))).evaluate == (1,)
    assert ranks(ByScore().plan(replace(FOUR, scores=(void, void, scored(1, 3.0), *others))))[1] == 1
    plan = ByScore().plan(replace(FOUR, scores=(*others, void, void, void)))
    assert plan.is_finished
    assert plan.table.rows[-1].notes == ("No score. The arena could not evaluate it.",)


def test_participants_who_leave_are_not_evaluated_and_stand_last() -> None:
    scores = (scored(1, 9.0), CountedScore(2), scored(3, 1.0))
    plan = ByScore().plan(replace(FOUR, scores=scores, left={1: 0, 2: 0}))
    assert (plan.evaluate, plan.evaluated) == ((4,), ())
    assert ranks(plan) == {3: 1, 4: 2, 1: 3, 2: 3}
    assert plan.table.rows[-1].notes == (WITHDRAWN,)


def test_baselines_are_evaluated_and_take_no_rank() -> None:
    start = replace(FOUR, baselines=frozenset({4, 3}))
    assert ByScore().plan(start).evaluate == (1, 2, 3, 4)
    plan = ByScore().plan(replace(start, scores=(scored(1, 1.0), scored(2, 2.0), scored(3, 0.0), scored(4, 5.0))))
    assert ranks(plan) == {2: 1, 1: 2, 4: 3, 3: 3}
    assert [row.participant for row in plan.table.rows] == [2, 1, 4, 3]
    assert plan.table.rows[-1].notes == (BASELINE,)


def test_a_format_fits_environments_with_as_many_seats_as_it_is_for() -> None:
    for slug, kind in FORMATS.items():
        format_fit(slug, 1 if kind.plays_alone else 2)
    with pytest.raises(Impossible, match="one seat, so its agents never meet: choose “By score”"):
        format_fit("swiss", 1)
    with pytest.raises(Impossible, match="has 2 seats, so its agents meet: choose one of “Round robin”, “Swiss”"):
        format_fit("score", 2)
    with pytest.raises(Impossible, match="no setting 'pairs'. Its settings are episodes"):
        format_make("score", {"pairs": 3})
