from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from environments.records import DuelSummary, Fault, MatchRecord, Outcome, summarise


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


def test_a_match_that_the_platform_failed_counts_for_nobody() -> None:
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
