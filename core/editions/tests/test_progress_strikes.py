"""Rounds and duels of organisers' tournaments that are voided, struck and played again."""

from __future__ import annotations

import pytest
from django.db.models import Q
from django.utils import timezone

from arena_kit.ranking.formats import Decision
from core.editions import progress
from core.editions.advance import environment_advance
from core.editions.follow import follow
from core.editions.progress import plan_of, tournament_step
from core.editions.tests.planned import begun, drawn, play_on, ranks
from core.editions.tests.samples import LATER, break_down, play, players
from core.errors import Refused
from core.models import Build, Duel, Environment, JobState, LedgerVoid, Submission, Tournament, TournamentState
from core.moderation.services import agent_disable, user_ban
from core.moderation.withdrawals import participant_withdraw
from core.submissions.existing import submission_delete
from core.submissions.images import duels_delay_rebuilt
from core.tests import factories
from core.tests.factories import moved
from core.tournaments.plan_selectors import plan_outline
from core.tournaments.services import tournament_cancel
from core.tournaments.strikes import duel_play_again, duel_void
from core.tournaments.voiding import meeting_again, round_void

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


@pytest.fixture
def six(environment: Environment) -> list[Submission]:
    return players(environment, 6)


def step(tournament: Tournament) -> None:
    tournament_step(tournament, now=LATER)


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


def lose_image(submission: Submission) -> None:
    Submission.objects.filter(pk=submission.pk).update(image="", image_removed_at=LATER)


def test_a_voided_round_is_played_again_with_its_seeds_and_all_after_it_is_drawn_anew(six: list[Submission]) -> None:
    tournament = begun(six)
    play_on(tournament, until=3)
    withdraw(six[5])
    play_on(tournament)
    first, second = drawn(tournament, 1), drawn(tournament, 2)
    seeds = set(tournament.duels.filter(round=2).values_list("seed", flat=True))
    assert tournament.state == TournamentState.FINISHED

    assert round_void(tournament=tournament, number=2, reason="The clock was wrong.", user=None) == 3

    assert (tournament.state, tournament.ended_at) == (TournamentState.RUNNING, None)
    assert tournament.participants.get(submission=six[5]).left_after == 1
    step(tournament)
    assert drawn(tournament, 1) == first
    # Who left in round 3 left before the new round 2.
    again = tournament.duels.filter(round=2, state=JobState.QUEUED)
    assert not any(six[5].pk in pair for pair in drawn(tournament, 2))
    assert len(drawn(tournament, 2)) == 2
    assert not drawn(tournament, 3)
    reasons = dict(LedgerVoid.objects.values_list("duel__round", "reason"))
    assert reasons == {2: "The clock was wrong.", 3: progress.STRUCK}
    kept = drawn(tournament, 2) & second
    assert len(seeds.intersection(again.values_list("seed", flat=True))) == len(kept)
    play_on(tournament)
    assert tournament.state == TournamentState.FINISHED
    assert ranks(tournament)[six[0].pk] == 1
    # Rests and walkovers too.
    table = {row.participant: row.values[0] for row in plan_outline(tournament.plan).table.rows}
    assert dict(tournament.participants.values_list("submission", "points")) == table


def test_a_struck_duel_of_a_bracket_is_played_again_with_what_followed_from_it_alone(six: list[Submission]) -> None:
    tournament = begun(six, "single-elimination", third_place=True)
    play_on(tournament)
    duel = tournament.duels.get(round=1, player_1__in=(six[2].pk, six[5].pk))
    other = tournament.duels.get(round=1, player_1__in=(six[3].pk, six[4].pk))
    elsewhere = tournament.duels.get(round=2, player_1__in=(six[0].pk, six[3].pk), player_2__in=(six[0].pk, six[3].pk))

    duel_void(duel=duel, reason="The clock was wrong.", user=None)
    step(tournament)

    assert tournament.state == TournamentState.RUNNING
    assert set(LedgerVoid.objects.values_list("duel__round", flat=True)) == {1, 2, 3}
    assert not LedgerVoid.objects.filter(duel__in=(other, elsewhere)).exists()
    assert tournament.duels.get(state=JobState.QUEUED).round == 1
    with pytest.raises(Refused, match="follows a plan"):
        duel_play_again(duel=Duel.objects.get(pk=duel.pk))
    play_on(tournament)
    assert ranks(tournament)[six[0].pk] == 1


def test_what_cannot_be_voided_is_refused(six: list[Submission]) -> None:
    tournament = begun(six)
    with pytest.raises(Refused, match=r"Round 2 was not drawn: the last one that was is round 1\."):
        round_void(tournament=tournament, number=2, reason="x", user=None)
    tournament_cancel(tournament=tournament, reason="x")
    with pytest.raises(Refused, match="The tournament is cancelled"):
        round_void(tournament=tournament, number=1, reason="x", user=None)
    Tournament.objects.update(is_automatic=True)
    with pytest.raises(Refused, match="The arena made this edition"):
        round_void(tournament=tournament, number=1, reason="x", user=None)


@pytest.mark.nightly
def test_the_table_of_a_cancelled_tournament_follows_what_counts(
    six: list[Submission], django_assert_num_queries: pytest.FixtureRequest
) -> None:
    tournament, other = begun(six, "round-robin"), begun(six, "round-robin")
    duel, second = tournament.duels.order_by("number")[:2]
    play(duel)
    play(second)
    for row in (tournament, other):
        tournament_cancel(tournament=row, reason="The room is closed.")

    def played() -> int:
        return sum(tournament.participants.values_list("wins", flat=True))

    follow(tournament.environment)
    assert progress.outdated_over(tournament.environment_id) == [tournament, other]
    environment_advance(tournament.environment, now=LATER)
    assert played() == 2
    duel_void(duel=Duel.objects.get(pk=duel.pk), reason="The clock was wrong.", user=None)
    environment_advance(tournament.environment, now=LATER)
    assert played() == 1
    with django_assert_num_queries(1):  # type: ignore[operator]
        assert progress.outdated_over(tournament.environment_id) == []
    tournament.refresh_from_db()
    assert (tournament.state, tournament.duels.filter(state=JobState.QUEUED).exists()) == (
        TournamentState.CANCELLED, False,
    )  # fmt: skip


@pytest.mark.nightly
def test_who_has_left_since_the_end_keeps_the_place_when_others_play_again(six: list[Submission]) -> None:
    tournament = begun(six, "round-robin")
    play_on(tournament)
    before = ranks(tournament)
    disable(six[0])
    delete(six[1])
    duel_void(duel=tournament.duels.get(player_1__in=six[4:], player_2__in=six[4:]), reason="x", user=None)

    step(tournament)
    step(tournament)
    assert tournament.state == TournamentState.RUNNING
    assert not tournament.participants.exclude(withdrawn_at=None).exists()
    play_on(tournament)
    assert ranks(tournament) == before


@pytest.mark.nightly
def test_who_has_left_since_the_end_and_is_drawn_again_leaves_a_walkover(six: list[Submission]) -> None:
    tournament = begun(six, "single-elimination")
    play_on(tournament)
    disable(six[0])
    duel_void(duel=tournament.duels.get(round=1, player_1__in=(six[2].pk, six[5].pk)), reason="x", user=None)

    play_on(tournament)

    assert tournament.state == TournamentState.FINISHED
    assert tournament.participants.exclude(withdrawn_at=None).get().submission == six[0]
    final = next(row for row in plan_of(tournament).meetings if row.round == 3)
    assert (final.decision, final.winner) == (Decision.WALKOVER, six[1].pk)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("groups-knock-out", {"groups": 2, "advance": 1}), pytest.param("swiss", {}, marks=pytest.mark.nightly)],
)
@pytest.mark.nightly
def test_decisions_before_a_participant_left_at_the_end_stand_when_others_play_again(
    six: list[Submission], kind: str, settings: dict[str, object]
) -> None:
    tournament = begun(six, kind, **settings)
    play_on(tournament)
    left = six[0]
    mine = {row.key: row for row in plan_of(tournament).meetings if left.pk in row.players}
    disable(left)
    struck = next(row for row in tournament.duels.filter(round=1) if left.pk not in (row.player_1_id, row.player_2_id))
    duel_void(duel=struck, reason="x", user=None)

    play_on(tournament)

    after = {row.key: row for row in plan_of(tournament).meetings if left.pk in row.players}
    decisions = [row.decision for _, row in sorted(after.items())]
    if kind == "swiss":
        assert decisions == [Decision.PLAYED, Decision.WALKOVER]
    else:
        assert after.keys() == mine.keys()
        assert sorted(decision.name for decision in decisions if decision) == ["PLAYED", "PLAYED", "WALKOVER"]
    assert not tournament.duels.filter(round__gt=1, state=JobState.QUEUED).exists()
    assert tournament.state == TournamentState.FINISHED


def test_a_duel_that_is_struck_while_a_history_is_read_is_left_out(
    six: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = begun(six)
    duel = tournament.duels.earliest("pk")
    play(duel)
    # Its entries are read after it, and count no more by then.
    monkeypatch.setattr(progress, "duel_results", lambda _: [])
    assert duel.pk not in {record.key for record in progress.history_of(tournament).duels}


def test_a_duel_that_cannot_be_played_again_is_not_struck_once_it_has_ended(six: list[Submission]) -> None:
    tournament = begun(six, "round-robin")
    play_on(tournament)
    rival, *others = six[1:]
    for player, leave, sentence in (
        (others[0], disable, r"may no longer play.* Let it play again first"),
        (others[1], delete, "may no longer play"),
        (others[2], close_account, "may no longer play"),
        (others[3], lose_image, r"image was deleted.* Build it again first"),
    ):
        duel = tournament.duels.filter(Q(player_1=player, player_2=rival) | Q(player_1=rival, player_2=player)).first()
        assert duel is not None
        leave(player)
        with pytest.raises(Refused, match=sentence):
            duel_void(duel=duel, reason="x", user=None)
        with pytest.raises(Refused, match="may no longer play|image was deleted"):
            round_void(tournament=tournament, number=duel.round, reason="x", user=None)
    tournament.refresh_from_db()
    assert (tournament.state, LedgerVoid.objects.exists()) == (TournamentState.FINISHED, False)


@pytest.mark.nightly
def test_a_meeting_that_was_given_up_is_played_again_when_an_organiser_says_so(six: list[Submission]) -> None:
    tournament = begun(six, "round-robin")
    given_up = tournament.duels.filter(player_1=six[0]).earliest("number")
    pair = {"player_1": given_up.player_1, "player_2": given_up.player_2, "round": given_up.round}
    for _ in range(3):
        break_down(tournament.duels.get(state=JobState.QUEUED, **pair))
        step(tournament)
    play_on(tournament)
    played = tournament.duels.filter(state=JobState.SUCCEEDED).earliest("number")
    with pytest.raises(Refused, match="nothing to play again"):
        meeting_again(duel=played, reason="x", user=None)

    meeting_again(duel=tournament.duels.filter(**pair).latest("number"), reason="x", user=None)
    step(tournament)

    assert LedgerVoid.objects.count() == 3
    assert tournament.duels.get(state=JobState.QUEUED, **pair).seed == given_up.seed
    with pytest.raises(Refused, match="nothing to play again"):
        meeting_again(duel=given_up, reason="x", user=None)
    play_on(tournament)
    assert tournament.state == TournamentState.FINISHED
    assert Decision.UNPLAYABLE not in {meeting.decision for meeting in plan_of(tournament).meetings}


@pytest.mark.parametrize("is_built", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_who_is_drawn_again_long_after_the_end_and_has_no_image_is_built_again_once(
    six: list[Submission], *, is_built: bool
) -> None:
    tournament = begun(six, "swiss")
    play_on(tournament)
    Submission.objects.filter(pk=six[0].pk).update(image="", image_removed_at=timezone.now())
    for duel in tournament.duels.filter(round=1).exclude(player_1=six[0]).exclude(player_2=six[0]):
        duel_void(duel=duel, reason="x", user=None)
    play_on(tournament, until=2)
    mine = tournament.duels.filter(state=JobState.QUEUED).filter(Q(player_1=six[0]) | Q(player_2=six[0]))

    duels_delay_rebuilt()
    duels_delay_rebuilt()

    build = Build.objects.get(state=JobState.QUEUED)
    assert build.submission == six[0]
    assert (mine.get().not_before is not None, mine.get().error_code) == (True, "image_missing")
    if is_built:
        Submission.objects.filter(pk=six[0].pk).update(image="again", image_removed_at=None)
    moved(Build.objects.filter(pk=build.pk), JobState.SUCCEEDED if is_built else JobState.FAILED)
    duels_delay_rebuilt()
    assert not Build.objects.filter(state=JobState.QUEUED).exists()
    tournament.duels.update(not_before=None)
    while not is_built and mine.exists():
        # What the runner would do without an image: the tournament ends, and its table says why.
        break_down(mine.get())
        step(tournament)
    play_on(tournament)
    assert tournament.state == TournamentState.FINISHED
    decisions = {meeting.decision for meeting in plan_of(tournament).meetings}
    assert (Decision.UNPLAYABLE in decisions) is not is_built
