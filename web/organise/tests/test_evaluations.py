"""What organisers do about evaluations and seeds."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from core.evaluations.selectors import ranking_list
from core.models import Environment, Evaluation, JobFault, JobState, SeedPurpose, Submission
from core.tests import factories
from core.tests.organising import act
from web.organise.job_sheets import job_address

pytestmark = pytest.mark.django_db


@pytest.fixture
def task() -> Environment:
    return factories.task()


@pytest.fixture
def player(people: factories.Cast, task: Environment) -> Submission:
    return factories.ready(factories.agent(people.alice, task, "anna"))


def test_the_list_of_evaluations_shows_their_state(organiser: Client, player: Submission) -> None:
    factories.evaluation(player, scores=[12.5, 12.5, 12.5, 12.5])
    factories.evaluation(player, JobState.RUNNING, scores=[1.0])

    page = organiser.get(reverse("web:organise_jobs_evaluation"))

    for text in ("anna v1", "running", "succeeded"):
        assertContains(page, text)


def test_an_evaluation_that_the_arena_failed_is_run_again_as_a_new_one(organiser: Client, player: Submission) -> None:
    failed = factories.evaluation(player, JobState.FAILED, scores=(), fault=JobFault.PLATFORM)

    said = act(organiser, "run_again", failed)

    again = player.evaluations.latest("pk")
    assert said == [f"evaluation of anna v1 is evaluated again as evaluation {again.pk}."]
    assert list(player.evaluations.values_list("state", flat=True)) == [JobState.FAILED, JobState.QUEUED]
    assert again.seed_list == ranking_list(player.agent.environment)


def test_a_submission_is_evaluated_again_and_stands_with_what_it_had_meanwhile(
    organiser: Client, player: Submission
) -> None:
    before = factories.evaluation(player)

    assert "is evaluated again" in act(organiser, "evaluate_again", player)[-1]
    before.refresh_from_db()
    assert (before.state, before.is_current) == (JobState.SUCCEEDED, True)

    assert "already waiting or running" in act(organiser, "evaluate_again", player)[-1]
    assert player.evaluations.count() == 2


def test_what_cannot_be_evaluated_is_said(
    organiser: Client, people: factories.Cast, task: Environment, player: Submission
) -> None:
    unbuilt = factories.submission(factories.agent(people.alice, task))
    factories.build(unbuilt, JobState.FAILED)
    player_of_duels = factories.ready(factories.agent(people.alice, factories.environment()))
    player.deleted_at = factories.NOON
    player.save()

    assert "built and validated" in act(organiser, "evaluate_again", unbuilt)[-1]
    assert "Tic-tac-toe is not ranked by score." in act(organiser, "evaluate_again", player_of_duels)[-1]
    assert "deleted" in act(organiser, "evaluate_again", player)[-1]
    assert not Evaluation.objects.exists()


def test_a_script_is_evaluated_again_without_a_validation(
    organiser: Client, people: factories.Cast, task: Environment
) -> None:
    script = factories.script(factories.agent(people.alice, task))

    assert "is evaluated again" in act(organiser, "evaluate_again", script)[-1]
    assert script.evaluations.get().seed_list is None


def test_a_final_phase_is_asked_for_and_begins_once_a_term(
    organiser: Client, people: factories.Cast, task: Environment, player: Submission
) -> None:
    question = organiser.get(reverse("web:organise_action", args=["environment", task.pk, "start_final_phase"]))
    assertContains(question, "cannot be undone")
    assert not task.seed_lists.filter(purpose=SeedPurpose.FINAL).exists()

    assert act(organiser, "start_final_phase", task) == [
        "CartPole: the final phase has begun; 1 version is being evaluated."
    ]
    final = task.seed_lists.get(purpose=SeedPurpose.FINAL)
    assert (final.created_by, player.evaluations.get().seed_list) == (people.olga, final)

    assert "has begun already. Begin a new term" in act(organiser, "start_final_phase", task)[-1]
    assert task.seed_lists.filter(purpose=SeedPurpose.FINAL).count() == 1
    buttons = organiser.get("/organise/environments/").content.decode()
    assert "begin_term" in buttons
    assert "start_final_phase" not in buttons

    assert act(organiser, "begin_term", task) == ["CartPole: a new term has begun; 1 version is being evaluated."]
    final.refresh_from_db()
    assert final.is_public
    assert task.seed_lists.order_by("pk").last() == player.evaluations.latest("pk").seed_list
    assert "is not in its final phase" in act(organiser, "begin_term", task)[-1]
    assert "the final phase has begun" in act(organiser, "start_final_phase", task)[-1]
    assert task.seed_lists.filter(purpose=SeedPurpose.FINAL).count() == 2


def test_an_environment_of_duels_has_no_final_phase_and_one_of_scores_no_tournament(
    organiser: Client, task: Environment
) -> None:
    assert "is not ranked by score" in act(organiser, "start_final_phase", factories.environment())[-1]
    assert "its agents are ranked by score" in act(organiser, "start_tournament", task)[-1]


def test_only_a_list_that_ranks_no_longer_is_revealed(organiser: Client, task: Environment) -> None:
    ranking = ranking_list(task)
    assert ranking is not None
    assert "These seeds still rank the environment" in act(organiser, "reveal", ranking)[-1]
    assert not task.seed_lists.get(pk=ranking.pk).is_public

    task.seed_lists.create(purpose=SeedPurpose.RANKING, seeds=[5], sha256="0" * 64)
    assert "everyone can now read its seeds" in act(organiser, "reveal", ranking)[-1]
    assert task.seed_lists.get(pk=ranking.pk).is_public
    assert "already public" in act(organiser, "reveal", ranking)[-1]


@pytest.mark.parametrize("kind", ["evaluation", "recording"])
def test_lists_leave_what_is_long_where_it_is(organiser: Client, player: Submission, kind: str) -> None:
    factories.recording(factories.evaluation(player))

    with CaptureQueriesContext(connection) as asked:
        assertContains(organiser.get(reverse(f"web:organise_jobs_{kind}")), "anna v1")

    for column in ("episodes", "metrics", "log"):
        assert not [query for query in asked if f'"core_evaluation"."{column}"' in query["sql"]]


def test_pages_of_evaluations_hold_neither_seeds_nor_a_form(organiser: Client, player: Submission) -> None:
    evaluation = factories.evaluation(player, records="evaluations/1/records.zip")
    drawn = factories.recording(evaluation)
    assert evaluation.seed_list is not None

    for row in (evaluation, drawn):
        for address in (job_address(row), reverse(f"admin:core_{row._meta.model_name}_change", args=[row.pk])):
            page = organiser.get(address)
            assertNotContains(page, str(evaluation.seed_list.seeds[0]))
            assertNotContains(page, 'name="_save"')
