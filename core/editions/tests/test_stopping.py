"""Duels of organisers' tournaments that end as soon as their tests have decided them, and tables that stay fair."""

from __future__ import annotations

import pytest

from arena_kit.environment.records import DuelRecord, MatchRecord, Outcome
from arena_kit.ranking.formats import Decision, DuelState, GroupsKnockOut, History, RoundRobin
from arena_kit.ranking.sequential import SequentialState, SequentialTest, pairs_to_decide
from arena_kit.tests.ranking.format_samples import participants, record
from core.duels.services import duel_succeed
from core.editions.progress import plan_of, tournament_step
from core.editions.tests.planned import begun, ranks
from core.editions.tests.samples import LATER, players
from core.jobs.artifacts import DuelArtifacts
from core.jobs.lifecycle import job_claim
from core.models import Duel, Environment, JobState, Submission, Tournament, TournamentState
from core.tests import factories
from core.tournaments.voiding import round_void

ONE, OTHER, DRAW = Outcome.PLAYER_1, Outcome.PLAYER_2, Outcome.DRAW
RESULTS = {4: (ONE, ONE), 3: (ONE, DRAW), 2: (ONE, OTHER), 1: (OTHER, DRAW), 0: (OTHER, OTHER)}
SCORES = {ONE: (1.0, -1.0), OTHER: (-1.0, 1.0), DRAW: (0.0, 0.0)}
CLEAR, LEVEL, NARROW = [4] * 20, [2] * 20, [3] + [2] * 19
"""Half points by pair for the version that was uploaded first. Narrow is a lead that decides no test."""


@pytest.fixture
def four(db: None) -> list[Submission]:
    return players(factories.environment(), 4)


def play(duel: Duel, pairs: list[int]) -> Duel:
    """Let a duel end as the runner ends it: with the pair that decides its test, else with its last one."""
    pairs = pairs[: duel.match_count // 2]
    half_points = pairs if duel.player_1_id < duel.player_2_id else [4 - points for points in pairs]
    assert duel.test is not None
    seen = half_points[: pairs_to_decide(SequentialTest(**duel.test), half_points)]
    matches = tuple(
        MatchRecord(number, 7, (1 - number % 2, number % 2), (), outcome, SCORES[outcome])
        for number, outcome in enumerate((outcome for points in seen for outcome in RESULTS[points]), start=1)
    )
    claimed = job_claim(kind=Duel, job_id=duel.pk, worker="w")
    assert claimed is not None
    played = DuelRecord("tic-tac-toe-v1", 7, ("one", "other"), matches)
    duel_succeed(duel=claimed, record=played, artifacts=DuelArtifacts(len(matches), "", "", ""), log="")
    return Duel.objects.get(pk=duel.pk)


def step(tournament: Tournament) -> None:
    tournament_step(tournament, now=LATER)


def waiting(tournament: Tournament, one: Submission, other: Submission) -> Duel:
    both = (one.pk, other.pk)
    return tournament.duels.get(state=JobState.QUEUED, player_1__in=both, player_2__in=both)


def found(duel: Duel) -> tuple[str, int]:
    """What the test has said, and after how many matches."""
    assert duel.test_result is not None
    return duel.test_result["state"], duel.matches_done


@pytest.mark.slow
def test_a_knock_out_goes_to_who_leads_when_a_duel_ends_and_a_level_one_is_extended_under_a_test_of_its_own(
    four: list[Submission],
) -> None:
    cup = begun(four, "single-elimination", pairs=20, extension_pairs=5, stops_early=True)
    decided = play(waiting(cup, four[0], four[3]), CLEAR)
    level = play(waiting(cup, four[1], four[2]), LEVEL)
    # Bounds are those that the tournament began with, as the rules of the game are.
    Environment.objects.update(test_elo1=150.0)
    cup.environment.refresh_from_db()
    step(cup)
    extension = waiting(cup, four[1], four[2])
    assert extension.test == SequentialTest(-50, 50, cap=5).as_json
    narrow = play(extension, NARROW)
    step(cup)
    final = play(waiting(cup, four[0], four[1]), NARROW)
    step(cup)

    assert found(decided)[0] in (SequentialState.ACCEPTED_H0, SequentialState.ACCEPTED_H1)
    assert 2 <= decided.matches_done < decided.match_count == 40
    inconclusive = SequentialState.INCONCLUSIVE.value
    assert [found(duel) for duel in (level, narrow, final)] == [
        (inconclusive, 40),
        (inconclusive, 10),
        (inconclusive, 40),
    ]
    assert final.test == level.test == SequentialTest(-50, 50, cap=20).as_json
    decisions = {frozenset(row.players): (row.decision, row.winner) for row in plan_of(cup).meetings}
    assert decisions == {
        frozenset((four[0].pk, four[3].pk)): (Decision.PLAYED, four[0].pk),
        frozenset((four[1].pk, four[2].pk)): (Decision.EXTENDED, four[1].pk),
        frozenset((four[0].pk, four[1].pk)): (Decision.PLAYED, four[0].pk),
    }
    assert cup.state == TournamentState.FINISHED
    assert [ranks(cup)[row.pk] for row in four] == [1, 2, 3, 3]


@pytest.mark.slow
def test_a_swiss_round_counts_alike_however_early_it_ended_and_is_played_again_under_the_same_tests(
    four: list[Submission],
) -> None:
    cup = begun(four, "swiss", pairs=20, stops_early=True)
    tests = set(cup.duels.values_list("match_count", "test__elo1", "test__cap"))
    for duel in cup.duels.all():
        play(duel, LEVEL)
    step(cup)
    assert set(cup.participants.values_list("points", flat=True)) == {1}
    round_void(tournament=cup, number=1, reason="The clock was wrong.", user=None)
    Environment.objects.update(test_elo1=150.0)
    cup.refresh_from_db()
    step(cup)

    again = list(cup.duels.filter(state=JobState.QUEUED))
    assert (
        {(row.match_count, row.test["elo1"], row.test["cap"]) for row in again if row.test} == tests == {(40, 50, 20)}
    )
    lengths = [play(duel, pairs).matches_done for duel, pairs in zip(again, (CLEAR, NARROW), strict=True)]
    step(cup)
    assert lengths[0] < lengths[1] == 40
    assert sorted(cup.participants.values_list("points", flat=True)) == [0, 0, 2, 2]
    for duel in cup.duels.filter(state=JobState.QUEUED):
        play(duel, CLEAR)
    step(cup)
    assert (cup.state, ranks(cup)[four[0].pk]) == (TournamentState.FINISHED, 1)


def test_a_single_pair_is_played_whole(four: list[Submission]) -> None:
    cup = begun(four, "round-robin", pairs=1, stops_early=True)
    assert {found(play(duel, CLEAR)) for duel in cup.duels.all()} == {(SequentialState.INCONCLUSIVE, 2)}
    step(cup)
    assert ranks(cup) == {row.pk: place for place, row in enumerate(four, start=1)}


def test_duels_of_organisers_are_whole_unless_they_choose_otherwise_whatever_the_arena_s_own_do(
    four: list[Submission],
) -> None:
    Environment.objects.update(stops_early=True)
    assert set(begun(four, "swiss").duels.values_list("test", flat=True)) == {None}


def test_between_equals_the_score_per_match_counts_where_duels_differ_in_length() -> None:
    a, b, c = who = participants(3)
    rounds = {frozenset(meeting.players): meeting.round for meeting in RoundRobin().plan(History(who)).meetings}
    # Each beats another: two in 14 matches without a loss, b in 60, of which a third are lost.
    results = [(a, b, 28, 0), (b, c, 80, 40), (c, a, 28, 0)]
    duels = tuple(
        record(
            rounds[frozenset((one, other))],
            (one, other),
            DuelState.PLAYED,
            (won, lost),
            ((won - lost) / 2, (lost - won) / 2),
        )
        for one, other, won, lost in results
    )

    whole = RoundRobin().plan(History(who, duels)).table
    stopped = RoundRobin(stops_early=True).plan(History(who, duels)).table

    assert (whole.columns[2], [row.participant for row in whole.rows]) == ("Score", [b, a, c])
    assert (stopped.columns[2], [row.participant for row in stopped.rows]) == ("Scores per match", [c, a, b])
    assert [row.values for row in stopped.rows] == [pytest.approx((2, 1, share)) for share in (2 / 3, 0, -2 / 3)]
    groups = GroupsKnockOut(groups=2, advance=1, stops_early=True).plan(History(participants(4))).stages[0]
    assert groups.table is not None
    assert groups.table.columns == stopped.columns
