"""Rounds of organisers' tournaments, made void."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.asserts import assertContains, assertNotContains

from arena_kit.ranking.formats import RoundRobin
from core.jobs.messages import TOURNAMENT_TASK
from core.models import JobState, LedgerVoid, Participant, Submission, Tournament, TournamentState
from core.tests import factories
from core.tests.organising import REASON, act, waiting_messages
from core.tournaments.services import tournament_cancel
from tests.tournaments import entered, organised

pytestmark = pytest.mark.django_db


def test_an_organiser_voids_a_round_of_a_tournament_that_has_ended(
    organiser: Client,
    people: factories.Cast,
    players: list[Submission],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    tournament = factories.tournament(players)
    Tournament.objects.update(is_automatic=False, name="Cup")
    address = reverse("web:organise_action", args=["tournament", tournament.pk, "void_round"])
    question = organiser.get(address)
    unanswered = organiser.post(address, {"number": "0", "reason": REASON})
    assertContains(question, "is played again with the same seeds")
    assertContains(unanswered, "greater than or equal to 1", status_code=422)
    with django_capture_on_commit_callbacks(execute=True):
        said = act(organiser, "void_round", tournament, number="1", reason=REASON)

    assert said == ["Tic-tac-toe: Cup: round 1 is void (3 duels) and is played again."]
    tournament.refresh_from_db()
    assert (tournament.state, tournament.ended_at) == (TournamentState.RUNNING, None)
    assert set(LedgerVoid.objects.values_list("reason", "created_by")) == {(REASON, people.olga.pk)}
    assert waiting_messages() == [(TOURNAMENT_TASK, tournament.environment_id)]
    assert act(organiser, "void_round", tournament, number="1", reason=REASON) == [
        "Tic-tac-toe: Cup: nothing was done. Round 1 was not drawn: none was so far."
    ]


def test_voiding_a_round_cancels_what_of_it_is_still_open(organiser: Client, players: list[Submission]) -> None:
    tournament = factories.tournament(players, state=TournamentState.RUNNING)
    Tournament.objects.update(is_automatic=False)

    act(organiser, "void_round", tournament, number="1", reason=REASON)

    assert sorted(tournament.duels.values_list("state", "void__reason")) == [
        (JobState.CANCELLED, None),
        (JobState.CANCELLED, None),
        (JobState.SUCCEEDED, REASON),
    ]


def test_run_again_on_a_duel_that_the_arena_could_not_play_has_its_meeting_played_again(
    organiser: Client, people: factories.Cast, players: list[Submission]
) -> None:
    tournament = factories.tournament(players)
    Tournament.objects.update(is_automatic=False)
    duel, played = tournament.duels.order_by("number")[:2]
    factories.moved(tournament.duels.filter(pk=duel.pk), JobState.FAILED)

    done, refused = act(organiser, "run_again", duel, played)

    assert "nothing was done. It is not void" in refused
    assert done.endswith(" is void; its meeting is played again.")
    assert LedgerVoid.objects.get().created_by == people.olga
    tournament.refresh_from_db()
    assert tournament.state == TournamentState.RUNNING


def test_a_planned_tournament_is_called_off(players: list[Submission]) -> None:
    tournament = Tournament.objects.create(
        environment=players[0].agent.environment, edition=1, state=TournamentState.PLANNED, is_automatic=False,
        started_at=None,
    )  # fmt: skip
    tournament_cancel(tournament=tournament, reason=REASON)
    tournament.refresh_from_db()
    assert (tournament.state, tournament.ended_at is None) == (TournamentState.CANCELLED, False)


def test_an_organiser_disqualifies_a_participant_and_takes_it_back(
    organiser: Client, people: factories.Cast, players: list[Submission]
) -> None:
    tournament = factories.tournament(players)
    Tournament.objects.update(is_automatic=False, name="Cup")
    row = (
        Participant.objects.select_related("tournament__environment").filter(tournament=tournament).order_by("rank")[0]
    )
    page = reverse("web:participant", args=["tic-tac-toe", tournament.edition, row.submission.agent.name])
    question = reverse("web:organise_action", args=["participant", row.pk, "disqualify"])
    assertContains(organiser.get(page), question)
    member = Client()
    member.force_login(people.alice)
    assertNotContains(member.get(page), question)
    # Before it is done, the page says whose rank changes.
    assertContains(organiser.get(question), f"{row.submission.agent}: 1st, then out")

    assert act(organiser, "disqualify", row, reason="It read memory.") == [
        f"{row} is disqualified; the table follows within seconds."
    ]
    assertContains(organiser.get(page), "Disqualified by the organisers: It read memory.")
    assert act(organiser, "readmit", row) == [f"{row} is back in the table within seconds."]
    assertNotContains(organiser.get(page), "Disqualified by the organisers")


def test_the_table_says_that_it_is_disqualified_and_not_that_it_withdrew(organiser: Client) -> None:
    rows = entered(factories.environment(), factories.user("anna"), ["x", "y", "z"])
    cup = organised(RoundRobin(), rows, left={rows[0].pk: 1})
    page = reverse("web:edition", args=["tic-tac-toe", cup.edition])
    assertContains(organiser.get(page), "Withdrew.")
    cup.participants.filter(submission=rows[0]).update(disqualified_because="It read memory.")
    assertContains(organiser.get(page), "Disqualified: It read memory.")
    assertNotContains(organiser.get(page), "Withdrew.")


def test_what_left_while_it_was_played_is_offered_no_return(organiser: Client, players: list[Submission]) -> None:
    tournament = factories.tournament(players)
    Tournament.objects.update(is_automatic=False, name="Cup")
    tournament.participants.update(withdrawn_at=factories.NOON, left_after=1, disqualified_because="It read memory.")
    Tournament.objects.update(ended_at=factories.NOON + timedelta(hours=1))
    page = reverse("web:participant", args=["tic-tac-toe", tournament.edition, players[0].agent.name])
    assertNotContains(organiser.get(page), "Readmit")


def test_a_paused_tournament_goes_on(organiser: Client, players: list[Submission]) -> None:
    tournament = factories.tournament(players, state=TournamentState.RUNNING)
    Tournament.objects.update(is_automatic=False, name="Cup", paused_at=factories.NOON)
    assert act(organiser, "go_on", tournament) == ["Tic-tac-toe: Cup goes on."]


def test_begin_now_says_that_it_waits_for_versions_and_does_not_begin_to_wait_anew(
    organiser: Client, players: list[Submission]
) -> None:
    tournament = factories.planned(
        players[0].agent.environment, registration_opens_at=None, registration_closes_at=None
    )
    late = factories.submission(factories.agent(players[0].agent.owner, tournament.environment, "late"))
    factories.build(late, JobState.QUEUED)
    Submission.objects.filter(pk=late.pk).update(created_at=factories.NOON)
    said = act(organiser, "begin_now", tournament)
    assert said == [f"{tournament} begins when 1 version uploaded in time can play, but waits 30 minutes at most."]
    tournament.refresh_from_db()
    begins_at = tournament.starts_at
    act(organiser, "begin_now", tournament)
    tournament.refresh_from_db()
    assert tournament.starts_at == begins_at
