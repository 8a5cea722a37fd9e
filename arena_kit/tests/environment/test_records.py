from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.environment.record_archive import DuelArchive
from arena_kit.environment.records import (
    DuelRecord,
    DuelSummary,
    Fault,
    MatchRecord,
    Outcome,
    canonical_lines,
    record_sha256,
    summarise,
)
from arena_kit.tests.environment.playing import written


def match(outcome: Outcome, scores: tuple[float, float], faulty_player: int | None = None) -> MatchRecord:
    fault = Fault.NONE if faulty_player is None else Fault.PLAYER
    return MatchRecord(1, 0, (0, 1), (), outcome, scores, fault=fault, faulty_player=faulty_player)


WON = match(Outcome.PLAYER_1, (1.0, -1.0))
LOST = match(Outcome.PLAYER_2, (-1.0, 1.0))
DRAWN = match(Outcome.DRAW, (0.0, 0.0))
FORFEITED = match(Outcome.PLAYER_2, (-1.0, 1.0), faulty_player=0)
MATCHES = st.lists(st.sampled_from([WON, LOST, DRAWN, FORFEITED]))


def test_a_forfeit_gives_the_opponent_two_points_but_no_win() -> None:
    summary = summarise([FORFEITED, DRAWN])
    assert (summary.wins, summary.errors, summary.draws) == ((0, 0), (1, 0), 1)
    assert summary.points == (1, 3)
    assert summary.outcome is Outcome.PLAYER_2


def test_equal_points_are_decided_by_score() -> None:
    high, low = match(Outcome.PLAYER_1, (5.0, -5.0)), LOST
    assert summarise([high, low]).outcome is Outcome.PLAYER_1
    assert summarise([WON, LOST]).outcome is Outcome.DRAW


def test_a_duel_without_matches_is_a_draw() -> None:
    assert summarise([]) == DuelSummary(Outcome.DRAW, 0, (0, 0), (0, 0), 0, (0.0, 0.0))


def test_a_match_that_the_platform_failed_counts_for_neither_player() -> None:
    failed = MatchRecord(1, 0, (0, 1), (), Outcome.NONE, (0.0, 0.0), fault=Fault.PLATFORM)
    assert summarise([failed]).points == (0, 0)


@given(MATCHES)
def test_every_match_gives_two_points_and_is_counted_once(matches: list[MatchRecord]) -> None:
    summary = summarise(matches)
    assert sum(summary.points) == 2 * len(matches)
    assert sum(summary.wins) + sum(summary.errors) + summary.draws == summary.match_count == len(matches)


@given(MATCHES)
def test_a_forfeit_is_never_better_than_a_loss(matches: list[MatchRecord]) -> None:
    lost, forfeited = summarise([*matches, LOST]), summarise([*matches, FORFEITED])
    assert forfeited.points == lost.points
    assert forfeited.outcome is lost.outcome


DUEL = DuelRecord("tic-tac-toe-v1", 7, ("anna v1", "berta v2"), (WON, FORFEITED))


def with_match(**fields: Any) -> DuelRecord:
    return replace(DUEL, matches=(replace(WON, **fields), FORFEITED))


def test_the_canonical_form_is_written_down_and_stays() -> None:
    """Every later version must compute the hashes that were stored."""
    duel = with_match(seed=4294967295, actions=(4, 0), scores=(0.1 + 0.2, -0.0), move_counts=(1, 1))

    assert list(canonical_lines(duel)) == [
        '["arena-duel",1,"tic-tac-toe-v1",7,2]',
        '[1,4294967295,[0,1],[4,0],"PLAYER_1",[0.30000000000000004,0.0],"NONE",null,"",[1,1]]',
        '[1,0,[0,1],[],"PLAYER_2",[-1.0,1.0],"PLAYER",0,"",[0,0]]',
    ]
    assert record_sha256(duel) == "69dad4d13cd02e3c8fac6901b4c662992304242f85635d7c0bb79e22cc620c75"


def test_what_differs_from_run_to_run_is_not_part_of_the_hash() -> None:
    same = (
        with_match(thinking_seconds=(1.0, 2.0), slowest_move_seconds=(0.5, 0.5), error="with a trace"),
        replace(DUEL, players=("anna renamed", "berta v2")),
        with_match(scores=(1, -1)),
    )

    assert {record_sha256(duel) for duel in same} == {record_sha256(DUEL)}


@pytest.mark.parametrize(
    "other",
    [
        with_match(number=2), with_match(seed=1), with_match(seats=(1, 0)), with_match(actions=(0,)),
        with_match(outcome=Outcome.DRAW), with_match(scores=(1.0, -2.0)), with_match(fault=Fault.PLAYER),
        with_match(faulty_player=1), with_match(error_code="player_died"), with_match(move_counts=(1, 0)),
        replace(DUEL, seed=8), replace(DUEL, environment="tic-tac-toe-v2"), replace(DUEL, matches=(WON,)),
        replace(DUEL, matches=(FORFEITED, WON)),
    ],
)  # fmt: skip
def test_any_other_play_has_another_hash(other: DuelRecord) -> None:
    assert record_sha256(other) != record_sha256(DUEL)


@given(st.lists(st.sampled_from([WON, LOST, DRAWN, FORFEITED]), max_size=5))
def test_a_record_that_was_stored_has_the_same_hash(matches: list[MatchRecord]) -> None:
    numbered = tuple(replace(match, number=number) for number, match in enumerate(matches, start=1))
    duel = replace(DUEL, matches=numbered)

    assert record_sha256(DuelArchive(io.BytesIO(written(duel))).record()) == record_sha256(duel)
