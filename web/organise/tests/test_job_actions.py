"""What organisers do, through the pages themselves."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.asserts import assertContains

from core.errors import Refused
from core.jobs.control import job_prioritise
from core.jobs.lines import line
from core.jobs.messages import TOURNAMENT_TASK
from core.models import (
    Agent,
    AuditEntry,
    Build,
    Duel,
    Environment,
    JobState,
    LedgerEntry,
    LedgerVoid,
    Play,
    Submission,
    Tournament,
    TournamentState,
    Validation,
)
from core.people.audit_log import row_values
from core.tests import factories
from core.tests.organising import REASON, act, enter_ledger, ready, waiting_messages
from core.tests.working import at_work

pytestmark = pytest.mark.django_db


def test_a_running_job_is_requeued_with_a_fresh_set_of_attempts(
    organiser: Client, players: list[Submission], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    build = factories.build(players[0], JobState.RUNNING)

    with django_capture_on_commit_callbacks(execute=True):
        said = act(organiser, "requeue", build)

    build.refresh_from_db()
    assert (build.state, build.attempt, build.claim_token) == (JobState.QUEUED, 0, None)
    assert said == ["build of anna v1 waits for a worker again."]
    assert at_work() == ["build"]


def test_a_waiting_job_is_woken_again(
    organiser: Client, players: list[Submission], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    build = factories.build(players[0], JobState.QUEUED)

    with django_capture_on_commit_callbacks(execute=True):
        said = act(organiser, "requeue", build)

    assert said == ["build of anna v1 was already waiting; its workers were woken."]
    assert at_work() == ["build"]


def test_an_organiser_gives_waiting_jobs_a_priority_within_its_range(
    organiser: Client, players: list[Submission]
) -> None:
    first, second, third = (factories.build(players[0], JobState.QUEUED) for _ in range(3))
    assert act(organiser, "prioritise", third, number="10") == ["build of anna v1 has the priority 10."]
    assert act(organiser, "prioritise", first, number="-10") == ["build of anna v1 has the priority -10."]
    assert list(line(Build)) == [third, second, first]
    running = factories.build(players[1], JobState.RUNNING)
    (said,) = act(organiser, "prioritise", running, number="1")
    assert said.startswith("build of berta v1: nothing was done. Only a job that waits for its first worker")
    address = reverse("web:organise_action", args=["build", second.pk, "prioritise"])
    assertContains(organiser.post(address, {"number": "11"}), "less than or equal to 10", status_code=422)
    with pytest.raises(Refused):
        job_prioritise(job=second, priority=11)


def test_a_job_that_is_over_can_be_neither_requeued_nor_cancelled(organiser: Client, players: list[Submission]) -> None:
    validation = Validation.objects.get(submission=players[0])

    assert act(organiser, "requeue", validation) == [
        (
            "validation of anna v1: nothing was done. "
            "A validation in the state “succeeded” cannot enter the state “waiting”."
        )
    ]
    assert act(organiser, "cancel", validation, reason=REASON) == [
        (
            "validation of anna v1: nothing was done. "
            "A validation in the state “succeeded” cannot enter the state “cancelled”."
        )
    ]
    validation.refresh_from_db()
    assert validation.state == JobState.SUCCEEDED


def test_a_job_that_moves_on_meanwhile_is_left_alone_and_said_so(
    organiser: Client, players: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    build = factories.build(players[0], JobState.RUNNING)

    def moved_on(row: Build) -> dict[str, Any]:
        factories.moved(Build.objects.filter(pk=row.pk), JobState.SUCCEEDED, claim_token=UUID(int=2))
        return row_values(row)

    # Looked at before the action begins, and with it its transaction.
    monkeypatch.setattr("web.organise.acting.row_values", moved_on)

    said = act(organiser, "requeue", build)

    assert said == ["build of anna v1 has changed meanwhile, so nothing was done. Reload the page and try again."]
    build.refresh_from_db()
    assert build.state == JobState.SUCCEEDED


def test_cancelling_asks_for_a_reason_and_shows_it(organiser: Client, players: list[Submission]) -> None:
    builds = [factories.build(player, JobState.QUEUED) for player in players[:2]]
    address, rows = reverse("web:organise_actions", args=["build", "cancel"]), [build.pk for build in builds]

    question = organiser.get(address, {"row": rows})
    unanswered = organiser.post(address, {"row": rows, "reason": "  "})
    assert set(Build.objects.filter(pk__in=[b.pk for b in builds]).values_list("state", flat=True)) == {"QUEUED"}
    said = act(organiser, "cancel", *builds, reason=REASON)

    assertContains(question, "A cancelled job stays cancelled")
    assertContains(unanswered, "This field is required.", status_code=422)
    assert set(Build.objects.filter(pk__in=[b.pk for b in builds]).values_list("state", "error_code", "error")) == {
        ("CANCELLED", "cancelled", REASON)
    }
    assert said == ["2 builds (build of anna v1, build of berta v1): each is cancelled."]


def test_an_action_without_rows_does_nothing_and_says_so(organiser: Client, players: list[Submission]) -> None:
    factories.build(players[0], JobState.QUEUED)
    address, back = reverse("web:organise_actions", args=["build", "cancel"]), reverse("web:organise_jobs_build")
    for rows in ([], ["0"], ["x"], ["999999"]):
        page = organiser.post(address, {"row": rows, "reason": REASON, "next": back}, follow=True)
        assertContains(page, "Nothing was done: choose at least one row.")
        assert page.redirect_chain == [(back, 302)]
    assert not Build.objects.filter(state=JobState.CANCELLED).exists()


def test_a_failed_build_is_run_again_as_a_new_build(organiser: Client, people: factories.Cast) -> None:
    submission = factories.submission(factories.agent(people.alice, factories.environment(), "anna"))
    failed = factories.build(submission, JobState.FAILED)

    said = act(organiser, "run_again", failed)

    failed.refresh_from_db()
    assert failed.state == JobState.FAILED
    new = submission.builds.latest("pk")
    assert new.state == JobState.QUEUED
    assert said == [f"build of anna v1 is built and validated again as build {new.pk}."]


def test_a_failed_publication_is_run_again_once(organiser: Client, people: factories.Cast) -> None:
    agent = factories.agent(people.alice, factories.environment(), "anna", is_public=True)
    submission = factories.submission(agent)
    failed = factories.publication(submission, JobState.FAILED)

    said = act(organiser, "run_again", failed)

    new = submission.publications.latest("pk")
    assert new.state == JobState.QUEUED
    assert said == [f"publication of anna v1 is published again as publication {new.pk}."]
    assert act(organiser, "run_again", failed)[-1].endswith("Its latest publication is waiting.")
    assert submission.publications.count() == 2


def test_a_private_agent_is_not_published_again(organiser: Client, people: factories.Cast) -> None:
    agent = factories.agent(people.alice, factories.environment(), "anna")
    failed = factories.publication(factories.submission(agent), JobState.FAILED)
    assert "public agents" in act(organiser, "run_again", failed)[-1]
    assert failed.submission.publications.count() == 1


def test_a_deleted_submission_is_not_built_again(organiser: Client, players: list[Submission]) -> None:
    players[0].deleted_at = timezone.now()
    players[0].save()

    said = act(organiser, "run_again", players[0])

    assert said == ["anna v1: nothing was done. A deleted submission cannot be built."]
    assert players[0].builds.count() == 1


def test_archives_are_deleted_after_a_question(organiser: Client, players: list[Submission]) -> None:
    question = organiser.get(reverse("web:organise_action", args=["submission", players[0].pk, "delete_archives"]))
    assertContains(question, "removed for good")
    assert act(organiser, "delete_archives", players[0]) == ["anna v1 is deleted; its results stay."]
    assert act(organiser, "delete_archives", players[0]) == [
        "anna v1: nothing was done. The archive is already deleted."
    ]


def test_voiding_a_duel_keeps_its_entries_and_says_who_and_why(
    organiser: Client, people: factories.Cast, players: list[Submission]
) -> None:
    duel = factories.tournament(players).duels.earliest("pk")
    enter_ledger(duel)

    said = act(organiser, "void", duel, reason=REASON)

    void = LedgerVoid.objects.get()
    assert (void.duel, void.reason, void.created_by) == (duel, REASON, people.olga)
    assert LedgerEntry.objects.filter(duel=duel).count() == 1
    assert said == ["anna v1 against berta v1 is void."]
    assert AuditEntry.objects.get(action="void").note == f"is void. Reason: {REASON}"


def test_only_a_duel_with_a_result_that_counts_can_be_voided(organiser: Client, players: list[Submission]) -> None:
    running = factories.tournament(players, state=TournamentState.RUNNING)
    waiting = running.duels.filter(state=JobState.QUEUED).earliest("pk")
    played = running.duels.filter(state=JobState.SUCCEEDED).earliest("pk")
    act(organiser, "void", played, reason=REASON)

    assert act(organiser, "void", waiting, reason=REASON)[-1].endswith(
        "nothing was done. It has no result that could be void; cancel it instead."
    )
    assert act(organiser, "void", played, reason="Another.")[-1].endswith("nothing was done. It is already void.")
    assert LedgerVoid.objects.get().reason == REASON


def test_a_void_duel_is_played_again_as_another_duel_of_the_edition(
    organiser: Client, players: list[Submission]
) -> None:
    tournament = factories.tournament(players)
    duel = tournament.duels.earliest("pk")
    assert "It is not void" in act(organiser, "run_again", duel)[0]
    act(organiser, "void", duel, reason=REASON)

    said = act(organiser, "run_again", duel)

    new = tournament.duels.latest("pk")
    assert (new.state, new.number, new.player_1, new.player_2) == (JobState.QUEUED, 4, duel.player_1, duel.player_2)
    assert (new.seed, new.match_count) == (duel.seed, duel.match_count)
    assert said[-1] == f"anna v1 against berta v1 is played again as duel {new.pk}."
    assert act(organiser, "run_again", duel)[-1].endswith("It has already been played again, or is about to be.")
    assert tournament.duels.count() == 4


def test_a_duel_is_not_played_again_without_its_players_or_its_edition(
    organiser: Client, players: list[Submission]
) -> None:
    tournament = factories.tournament(players, state=TournamentState.CANCELLED)
    first, second, _ = tournament.duels.order_by("pk")
    factories.moved(Duel.objects.filter(pk__in=[first.pk, second.pk]), JobState.FAILED)
    assert act(organiser, "run_again", first)[-1].endswith("Its edition was cancelled.")
    Tournament.objects.update(state=TournamentState.FINISHED)
    Submission.objects.filter(pk=players[0].pk).update(deleted_at=timezone.now())

    assert act(organiser, "run_again", second)[-1].endswith("One of its players has been deleted or has no image.")
    assert tournament.duels.count() == 3


def test_starting_a_tournament_is_an_order_in_its_row_and_a_request_to_the_manager(
    organiser: Client,
    environment: Environment,
    players: list[Submission],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        said = act(organiser, "start_tournament", environment)

    assert waiting_messages() == [(TOURNAMENT_TASK, environment.pk)]
    environment.refresh_from_db()
    assert environment.start_asked_at is not None
    assert "a new edition begins within seconds" in said[0]


@pytest.mark.parametrize("aside", ["resting", "benched"])
def test_agents_that_do_not_play_are_not_announced_as_the_players_of_an_edition(
    organiser: Client, environment: Environment, players: list[Submission], aside: str
) -> None:
    if aside == "resting":
        Agent.objects.filter(pk__in=[row.agent_id for row in players[1:]]).update(is_resting=True)
    else:
        Submission.objects.filter(pk__in=[row.pk for row in players[1:]]).update(is_benched=True)
    assert "Tic-tac-toe has one agent. Agents that rest" in act(organiser, "start_tournament", environment)[-1]
    environment.refresh_from_db()
    assert environment.start_asked_at is None


def test_a_tournament_that_cannot_start_is_not_asked_for(
    organiser: Client,
    environment: Environment,
    people: factories.Cast,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    player = ready(people, environment, "anna")
    with django_capture_on_commit_callbacks(execute=True):
        assert "needs two agents" in act(organiser, "start_tournament", environment)[-1]
        running = factories.tournament([player, ready(people, environment, "berta")], state=TournamentState.RUNNING)
        assert "is still running. Wait until it ends" in act(organiser, "start_tournament", environment)[-1]
        running.delete()
        environment.play = Play.LADDER
        environment.save()
        assert "plays a ladder, which begins by itself" in act(organiser, "start_tournament", environment)[-1]
        environment.is_active = False
        environment.save()
        assert "is inactive; make it active first" in act(organiser, "start_tournament", environment)[-1]

    assert waiting_messages() == []


def test_a_ladder_is_ended_by_playing_nothing(
    organiser: Client, environment: Environment, players: list[Submission]
) -> None:
    tournament = factories.tournament(players, state=TournamentState.RUNNING)
    assert "It is not a running ladder." in act(organiser, "end_ladder", tournament)[-1]
    Tournament.objects.update(format="ladder")
    Environment.objects.update(play=Play.LADDER)
    assert "ends within seconds" in act(organiser, "end_ladder", tournament)[-1]
    environment.refresh_from_db()
    assert environment.play == Play.NOTHING


def test_cancelling_an_edition_cancels_what_is_left_of_it(organiser: Client, players: list[Submission]) -> None:
    tournament = factories.tournament(players, state=TournamentState.RUNNING)

    said = act(organiser, "cancel", tournament, reason=REASON)

    tournament.refresh_from_db()
    assert tournament.state == TournamentState.CANCELLED
    assert sorted(tournament.duels.values_list("state", "error")) == [
        ("CANCELLED", REASON),
        ("CANCELLED", REASON),
        ("SUCCEEDED", ""),
    ]
    assert said == ["Tic-tac-toe edition 1 is cancelled; what has been played stays."]
    assert act(organiser, "cancel", tournament, reason=REASON)[-1].endswith("nothing was done. It is not running.")


def test_an_agent_is_disabled_with_a_reason_and_enabled_again(organiser: Client, players: list[Submission]) -> None:
    agent = players[0].agent
    assert act(organiser, "enable", agent) == ["anna: nothing was done. The agent is not disabled."]

    assert act(organiser, "disable", agent, reason=REASON)[-1] == "anna is disabled."
    assert Agent.objects.filter(is_disabled=True).values_list("name", "disabled_reason").get() == ("anna", REASON)

    assert act(organiser, "enable", agent)[-1] == "anna is enabled."
    assert not Agent.objects.filter(is_disabled=True).exists()
