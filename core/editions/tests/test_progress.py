"""Tournaments of organisers on rows: begun, played to their end by every format, left, struck and played again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import Q

from arena_kit.ranking.formats import FORMATS, Decision
from core.editions import progress
from core.editions.advance import environment_advance
from core.editions.progress import plan_of, standings_refresh, tournament_begin, tournament_step
from core.editions.tests.planned import begun, drawn, planned, play_on, ranks, rows_of
from core.editions.tests.samples import LATER, break_down, play, players
from core.errors import Refused
from core.jobs.lifecycle import job_claim, job_give_back
from core.models import (
    CancelCode,
    Duel,
    Eligibility,
    Environment,
    JobState,
    LedgerEntry,
    Rating,
    Registration,
    Submission,
    Tournament,
    TournamentState,
    User,
)
from core.moderation.services import agent_disable, user_ban
from core.moderation.withdrawals import participant_withdraw
from core.submissions.existing import submission_delete
from core.tests import factories
from core.tournaments.plan_selectors import plan_outline
from core.tournaments.rounds import duels_cancel
from core.tournaments.services import tournament_cancel

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class Killed(BaseException):
    pass


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


@pytest.fixture
def six(environment: Environment) -> list[Submission]:
    return players(environment, 6)


def step(tournament: Tournament) -> None:
    tournament_step(tournament, now=LATER)


# --- Beginning --------------------------------------------------------------------------------------------


def test_those_who_may_play_begin_in_the_order_of_their_ratings(six: list[Submission]) -> None:
    agent_disable(agent=six[5].agent, reason="Cheats.")
    for place, rating in ((2, 1700), (1, 1600), (3, 1400)):
        factories.rating(six[place], rating)

    tournament = begun(six, "single-elimination")

    assert tournament.state == TournamentState.RUNNING
    seeds = tournament.participants.order_by("seeding").values_list("submission", flat=True)
    assert list(seeds) == [six[place].pk for place in (2, 1, 3, 0, 4)]
    # The three best of five have a bye; two of them meet already.
    duel = tournament.duels.get(round=1)
    assert {duel.player_1_id, duel.player_2_id} == {six[0].pk, six[4].pk}
    assert duel.match_count == tournament.settings["pairs"] * 2 == tournament.environment.matches_per_duel


def test_of_registered_agents_the_first_take_part_with_versions_from_before_the_freeze(six: list[Submission]) -> None:
    tournament = planned(six, "round-robin", pairs=3)
    tournament.max_participants = 2
    tournament.registration_opens_at, tournament.freezes_at = LATER - timedelta(days=9), LATER
    tournament.save()
    newer = factories.ready(six[3].agent)
    Submission.objects.filter(pk=newer.pk).update(created_at=LATER + timedelta(seconds=1))
    submission_delete(submission=six[4])
    for place in (4, 3, 1, 0):
        Registration.objects.create(tournament=tournament, agent=six[place].agent)

    tournament.eligibility, tournament.teams = Eligibility.TEAMS, ["Red"]
    tournament.save()
    with pytest.raises(Refused, match="there are 0"):
        tournament_begin(tournament, now=LATER)
    User.objects.filter(pk=six[0].agent.owner_id).update(team="Red")
    tournament_begin(tournament, now=LATER)

    assert set(ranks(tournament)) == {six[3].pk, six[1].pk}
    assert tournament.duels.get().match_count == 6


def test_too_few_participants_are_refused_with_what_to_do(six: list[Submission]) -> None:
    tournament = planned(six, "groups-knock-out", groups=2, advance=3)
    with pytest.raises(Refused, match=r"need 8 participants.* there are 6\. Use fewer groups"):
        tournament_begin(tournament, now=LATER)
    tournament.refresh_from_db()
    assert (tournament.state, tournament.participants.count()) == (TournamentState.PLANNED, 0)

    tournament_cancel(tournament=tournament, reason="No agents came.")
    assert standings_refresh(tournament) == 0
    with pytest.raises(Refused, match="need 8"):
        tournament_begin(tournament, now=LATER)
    other = planned(six)
    tournament_begin(other, now=LATER)
    with pytest.raises(Refused, match="is no longer planned"):
        tournament_begin(other, now=LATER)


# --- Playing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    # The rounds of the two others are parts of these.
    [
        pytest.param(kind, marks=[pytest.mark.nightly] if kind in ("round-robin", "single-elimination") else [])
        for kind, played in FORMATS.items()
        if not played.plays_alone
    ],
)
def test_every_format_is_played_to_its_end_and_a_second_step_changes_nothing(six: list[Submission], kind: str) -> None:
    tournament = begun(six, kind, **({"groups": 2} if kind == "groups-knock-out" else {}))
    while tournament.state == TournamentState.RUNNING:
        before = rows_of(tournament)
        step(tournament)
        assert rows_of(tournament) == before
        for duel in tournament.duels.filter(state=JobState.QUEUED):
            play(duel)
        step(tournament)

    assert (tournament.state, tournament.ended_at is None) == (TournamentState.FINISHED, False)
    assert ranks(tournament)[six[0].pk] == 1
    numbers = list(tournament.duels.order_by("pk").values_list("number", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))
    standing = plan_outline(tournament.plan)
    assert standing.table.rows[0].participant == six[0].pk
    shown = [key for meeting in standing.meetings for key in meeting.duel_keys]
    assert sorted(shown) == sorted(tournament.duels.values_list("pk", flat=True))
    kept = dict(tournament.participants.values_list("submission", "rating"))
    assert kept == dict(Rating.objects.values_list("submission", "value"))
    assert standings_refresh(tournament) == 0


def test_a_worker_that_dies_in_a_step_leaves_nothing_half_done(
    six: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = begun(six)
    for duel in tournament.duels.all():
        play(duel)
    before = rows_of(tournament)

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(progress, "_write", die)
        with pytest.raises(Killed):
            step(tournament)
    assert rows_of(tournament) == before
    step(tournament)
    assert len(drawn(tournament, 2)) == 3


def test_a_worker_that_dies_at_the_end_leaves_a_tournament_that_ends_later(
    six: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = begun(six, "single-elimination")

    def die(_: Tournament) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("core.editions.services.ratings_at_end", die)
        with pytest.raises(Killed):
            play_on(tournament)
    tournament.refresh_from_db()
    assert tournament.state == TournamentState.RUNNING
    step(tournament)
    assert (tournament.state, tournament.participants.filter(rating=None).count()) == (TournamentState.FINISHED, 0)


def test_what_the_arena_cannot_play_is_given_up_after_three_duels(six: list[Submission]) -> None:
    tournament = begun(six[:6], "single-elimination")
    first = tournament.duels.order_by("number").first()
    assert first is not None
    pair = {
        "player_1__in": (first.player_1_id, first.player_2_id),
        "player_2__in": (first.player_1_id, first.player_2_id),
    }
    for _ in range(3):
        break_down(tournament.duels.get(state=JobState.QUEUED, round=1, **pair))
        step(tournament)
    tried = tournament.duels.filter(round=1, **pair)
    assert tried.count() == len(set(tried.values_list("seed", flat=True))) == 3

    play_on(tournament)
    assert tournament.state == TournamentState.FINISHED
    row = next(row for row in plan_outline(tournament.plan).table.rows if row.notes)
    assert row.notes == ("Round 1: The arena could not play this meeting.",)


def test_one_tournament_in_trouble_does_not_stop_another(
    six: list[Submission], caplog: pytest.LogCaptureFixture
) -> None:
    broken, other = begun(six), begun(six)
    Tournament.objects.filter(pk=broken.pk).update(format="chess-boxing")
    for duel in other.duels.all():
        play(duel)
    environment_advance(other.environment, now=LATER)
    assert len(drawn(other, 2)) == 3
    assert "could not be updated" in caplog.text


def test_an_organisers_tournament_and_an_edition_run_side_by_side(six: list[Submission]) -> None:
    tournament = begun(six)
    environment_advance(tournament.environment, now=LATER)
    edition = Tournament.objects.get(is_automatic=True)
    assert (tournament.state, edition.state, edition.edition) == (
        TournamentState.RUNNING, TournamentState.RUNNING, tournament.edition + 1,
    )  # fmt: skip


# --- Leaving ----------------------------------------------------------------------------------------------


def disable(submission: Submission) -> None:
    agent_disable(agent=submission.agent, reason="Cheats.")


def withdraw(submission: Submission) -> None:
    participant_withdraw(participant=submission.participations.get(), user=submission.agent.owner)


def close_account(submission: Submission) -> None:
    submission.agent.owner = factories.user("gone")
    submission.agent.save()
    user_ban(user=submission.agent.owner, reason="Spam.")


def delete(submission: Submission) -> None:
    submission_delete(submission=submission)


@pytest.mark.parametrize(
    ("kind", "leave"),
    [
        ("swiss", withdraw),
        ("single-elimination", disable),
        pytest.param("round-robin", delete, marks=pytest.mark.nightly),
        pytest.param("swiss", close_account, marks=pytest.mark.nightly),
    ],
)
def test_who_leaves_stands_last_and_the_opponent_has_a_walkover(
    six: list[Submission], kind: str, leave: Callable[[Submission], None]
) -> None:
    tournament = begun(six, kind)
    if kind != "round-robin":
        play_on(tournament, until=2)
    left = six[0]
    leave(left)
    step(tournament)

    row = tournament.participants.get(submission=left)
    assert row.left_after == (5 if kind == "round-robin" else 2)
    assert not tournament.duels.filter(state=JobState.QUEUED, player_1=left).exists()
    decisions = {meeting.decision for meeting in plan_of(tournament).meetings if left.pk in meeting.players}
    assert (Decision.ANNULLED if kind == "round-robin" else Decision.WALKOVER) in decisions
    play_on(tournament)
    assert ranks(tournament)[left.pk] == 6
    assert tournament.state == TournamentState.FINISHED


def test_only_its_owner_withdraws_an_agent_and_only_from_what_is_played_by_a_plan(six: list[Submission]) -> None:
    tournament = begun(six)
    owner, row = six[0].agent.owner, tournament.participants.get(submission=six[0])
    with pytest.raises(Refused, match="Only the owner"):
        participant_withdraw(participant=row, user=factories.user("eve"))
    participant_withdraw(participant=row, user=owner)
    (called_off,) = tournament.duels.filter(state=JobState.CANCELLED)
    assert called_off.error == "A player has withdrawn from the tournament."
    with pytest.raises(Refused, match="no longer takes part"):
        participant_withdraw(participant=row, user=owner)
    Tournament.objects.update(is_automatic=True)
    with pytest.raises(Refused, match="automatic tournaments"):
        participant_withdraw(participant=tournament.participants.get(submission=six[1]), user=owner)


@pytest.mark.parametrize("leave", [withdraw, delete, disable])
@pytest.mark.parametrize(
    ("kind", "decision"),
    [
        ("swiss", Decision.PLAYED),
        ("single-elimination", Decision.PLAYED),
        pytest.param("round-robin", Decision.ANNULLED, marks=pytest.mark.nightly),
    ],
)
def test_leaving_takes_back_no_duel_that_a_worker_has_begun_unless_organisers_bar_the_agent(
    six: list[Submission], kind: str, decision: Decision, leave: Callable[[Submission], None]
) -> None:
    tournament = begun(six, kind)
    duel = tournament.duels.order_by("number")[0]
    loser = duel.player_1 if duel.player_1_id > duel.player_2_id else duel.player_2
    job = job_claim(kind=Duel, job_id=duel.pk, worker="worker-1")
    assert job is not None
    leave(loser)
    step(tournament)
    if leave is disable:
        assert Duel.objects.get(pk=duel.pk).state == JobState.CANCELLED
        return
    assert Duel.objects.get(pk=duel.pk).state == JobState.RUNNING
    (meeting,) = (found for found in plan_of(tournament).meetings if duel.pk in found.duel_keys)
    assert meeting.is_open
    # The arena fails, and it waits for its next attempt.
    job_give_back(job=job, code="engine", error="The engine was away.", is_delayed=False)
    step(tournament)
    play(Duel.objects.get(pk=duel.pk))
    step(tournament)

    (meeting,) = (found for found in plan_of(tournament).meetings if duel.pk in found.duel_keys)
    assert meeting.decision is decision
    assert LedgerEntry.objects.filter(duel=duel, duel__void=None).count() == 2
    assert not tournament.duels.filter(Q(player_1=loser) | Q(player_2=loser), state=JobState.QUEUED).exists()
    play_on(tournament)
    assert tournament.state == TournamentState.FINISHED
    assert ranks(tournament)[loser.pk] == 6


def test_who_is_taken_out_when_all_is_played_keeps_the_place(six: list[Submission]) -> None:
    tournament = begun(six, "single-elimination")
    while (opened := tournament.duels.filter(state=JobState.QUEUED)).exists():
        play_on(tournament, until=3)
        for duel in opened.filter(round=3):
            play(duel)
    disable(six[1])
    step(tournament)
    assert tournament.state == TournamentState.FINISHED
    assert ranks(tournament)[six[1].pk] == 2
    assert not tournament.participants.exclude(withdrawn_at=None).exists()


def test_a_duel_that_ends_while_it_is_taken_back_stands(six: list[Submission], monkeypatch: pytest.MonkeyPatch) -> None:
    tournament = begun(six)
    duel = tournament.duels.get(player_1=six[0])
    # Its agent leaves, but the duel is not cancelled along with that: a worker was quicker.
    tournament.participants.filter(submission=six[0]).update(withdrawn_at=LATER, left_after=1)

    def ends_first(*, duels: list[Duel], code: CancelCode, reason: str) -> list[Duel]:
        for row in duels:
            play(row)
            row.refresh_from_db()
        return duels_cancel(duels=duels, code=code, reason=reason)

    monkeypatch.setattr(progress, "duels_cancel", ends_first)
    step(tournament)

    duel.refresh_from_db()
    assert (duel.state, duel.is_void) == (JobState.SUCCEEDED, False)
    assert next(row for row in plan_of(tournament).meetings if six[0].pk in row.players).winner == six[0].pk


# --- Striking ---------------------------------------------------------------------------------------------
