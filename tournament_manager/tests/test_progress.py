"""Tournaments of organisers on rows: begun, played to their end by every format, left, struck and played again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import Q
from django.utils import timezone

from arena_kit.ranking.formats import FORMATS, Decision
from core.errors import Refused
from core.models import (
    Build,
    CancelCode,
    Duel,
    Eligibility,
    Environment,
    JobState,
    LedgerVoid,
    Rating,
    Registration,
    Submission,
    Tournament,
    TournamentState,
    User,
)
from core.moderation.services import agent_disable, participant_withdraw, user_ban
from core.submissions.images import duels_delay_rebuilt
from core.submissions.services import submission_delete
from core.tests import factories
from core.tests.factories import moved
from core.tournaments.plan_selectors import plan_outline
from core.tournaments.rounds import duels_cancel, meeting_again, round_void
from core.tournaments.services import tournament_cancel
from core.tournaments.strikes import duel_play_again, duel_void
from tournament_manager import progress
from tournament_manager.follow import follow
from tournament_manager.progress import plan_of, standings_refresh, tournament_begin, tournament_step
from tournament_manager.tasks import tournaments_advance
from tournament_manager.tests.planned import begun, drawn, planned, play_on, ranks, rows_of
from tournament_manager.tests.samples import LATER, break_down, play, players

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


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


@pytest.mark.parametrize("kind", FORMATS)
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
        patch.setattr("tournament_manager.editions.ratings_at_end", die)
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
    tournaments_advance(other.environment_id)
    assert len(drawn(other, 2)) == 3
    assert "could not be updated" in caplog.text


def test_an_organisers_tournament_and_an_edition_run_side_by_side(six: list[Submission]) -> None:
    tournament = begun(six)
    tournaments_advance(tournament.environment_id)
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


def lose_image(submission: Submission) -> None:
    Submission.objects.filter(pk=submission.pk).update(image="", image_removed_at=LATER)


@pytest.mark.parametrize(
    ("kind", "leave"),
    [("swiss", withdraw), ("single-elimination", disable), ("round-robin", delete), ("swiss", close_account)],
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
    assert progress.outdated_cancelled(tournament.environment_id) == [tournament, other]
    tournaments_advance(tournament.environment_id)
    assert played() == 2
    duel_void(duel=Duel.objects.get(pk=duel.pk), reason="The clock was wrong.", user=None)
    tournaments_advance(tournament.environment_id)
    assert played() == 1
    with django_assert_num_queries(1):  # type: ignore[operator]
        assert progress.outdated_cancelled(tournament.environment_id) == []
    tournament.refresh_from_db()
    assert (tournament.state, tournament.duels.filter(state=JobState.QUEUED).exists()) == (
        TournamentState.CANCELLED, False,
    )  # fmt: skip


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


@pytest.mark.parametrize(("kind", "settings"), [("groups-knock-out", {"groups": 2, "advance": 1}), ("swiss", {})])
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


@pytest.mark.parametrize(
    ("leave", "sentence"),
    [
        (disable, r"may no longer play.* Let it play again first"),
        (delete, "may no longer play"),
        (close_account, "may no longer play"),
        (lose_image, r"image was deleted.* Build it again first"),
    ],
)
def test_a_duel_that_cannot_be_played_again_is_not_struck_once_it_has_ended(
    six: list[Submission], leave: Callable[[Submission], None], sentence: str
) -> None:
    tournament = begun(six, "round-robin")
    play_on(tournament)
    duel = tournament.duels.filter(player_1=six[2]).first()
    assert duel is not None
    leave(six[2])
    with pytest.raises(Refused, match=sentence):
        round_void(tournament=tournament, number=duel.round, reason="x", user=None)
    with pytest.raises(Refused, match=sentence):
        duel_void(duel=duel, reason="x", user=None)
    tournament.refresh_from_db()
    assert (tournament.state, LedgerVoid.objects.exists()) == (TournamentState.FINISHED, False)


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


@pytest.mark.parametrize("is_built", [True, False])
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
