"""Hidden agents are on no board and in no list, keep their results, and can be shown again; deleted ones are gone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.editions.fits import ratings_follow, ratings_refresh
from core.models import Agent, AuditEntry, Environment, Evaluation, JobState, Registration, Submission
from core.ratings.board import ranked, standing_of
from core.submissions.search import agent_search
from core.submissions.selectors import user_agent_rows
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.ladders import agent_rest
from web.conftest import As
from web.tests.arena import Stage

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def act(client: Client, what: str, agent: Agent) -> str:
    address = reverse(f"web:agent_{what}", args=[agent.environment.slug, agent.name])
    return client.post(address, follow=True).content.decode()


def listed(client: Client, cast: Cast, viewer: object) -> set[str]:
    """The agents that the lists of the site and the API show to a viewer, who is logged in as the client."""
    rows = [*agent_search(["shy"], viewer, limit=9), *user_agent_rows(cast.alice, viewer)]  # type: ignore[arg-type]
    return {row.name for row in rows} | {row["name"] for row in client.get("/api/v1/agents/").json()["results"]}


def test_others_find_a_hidden_agent_in_no_list_but_on_pages_of_results(
    cast: Cast, environment: Environment, visit: As
) -> None:
    agent = factories.ready(factories.agent(cast.alice, environment, "shy")).agent
    alice, bob = visit(cast.alice), visit(cast.bob)
    assert "shy" in listed(bob, cast, cast.bob)
    assert "shy is hidden." in act(alice, "rest", agent)
    assert "shy" not in listed(bob, cast, cast.bob)
    assert "shy" in listed(alice, cast, cast.alice)
    assert "shy" in listed(visit(cast.olga), cast, cast.olga)
    # Results lead here.
    address = reverse("web:agent", args=[environment.slug, "shy"])
    assert "This agent is hidden." in bob.get(address).content.decode()
    assert "shy plays again." in act(alice, "play", agent)
    assert "shy" in listed(bob, cast, cast.bob)


def test_a_hidden_agent_leaves_the_board_of_scores_and_returns_to_its_place(cast: Cast) -> None:
    task = factories.task()
    score = factories.evaluation(factories.ready(factories.agent(cast.alice, task, "shy")))
    assert Evaluation.objects.filter(is_current=True).get() == score
    agent_rest(agent=score.agent, is_resting=True)
    assert not Evaluation.objects.filter(is_current=True).exists()
    agent_rest(agent=score.agent, is_resting=False)
    assert Evaluation.objects.filter(is_current=True).get() == score
    assert Evaluation.objects.count() == 1


def test_a_hidden_agent_leaves_the_leaderboard_of_a_game_at_once_and_returns_to_it(cast: Cast, stage: Stage) -> None:
    ratings_refresh(stage.environment)
    agent, now = stage.anna.agent, timezone.now() + timedelta(seconds=30)
    assert standing_of(agent)
    agent_rest(agent=agent, is_resting=True)
    assert ratings_follow(stage.environment, now=now)
    assert standing_of(agent) is None
    assert [row.rank for row in ranked(stage.environment)] == [1]
    agent_rest(agent=agent, is_resting=False)
    assert ratings_follow(stage.environment, now=now + timedelta(seconds=30))
    assert standing_of(agent)
    assert not ratings_follow(stage.environment, now=now + timedelta(seconds=60))


def test_what_was_not_evaluated_while_hidden_is_evaluated_when_it_is_shown_again(cast: Cast) -> None:
    agent = factories.ready(factories.agent(cast.alice, factories.task(), "shy")).agent
    agent_rest(agent=agent, is_resting=True)
    assert not Evaluation.objects.exists()
    agent_rest(agent=agent, is_resting=False)
    assert Evaluation.objects.get().state == JobState.QUEUED


def test_a_deleted_agent_is_gone_with_its_archives_and_its_name_is_free(
    cast: Cast, environment: Environment, visit: As, django_capture_on_commit_callbacks: object
) -> None:
    agent = factories.agent(cast.alice, environment, "failed")
    version, waiting = factories.submission(agent), factories.submission(agent)
    job = factories.build(waiting, JobState.QUEUED)
    Registration.objects.create(tournament=factories.planned(environment), agent=agent)
    alice = visit(cast.alice)
    assert "Delete this agent" in alice.get(reverse("web:agent", args=[environment.slug, "failed"])).content.decode()
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        assert "failed is deleted." in act(alice, "delete", agent)
    assert not default_storage.exists(str(version.archive))
    assert not Submission.objects.filter(agent=agent, deleted_at=None).exists()
    job.refresh_from_db()
    assert (job.state, Registration.objects.count()) == (JobState.CANCELLED, 0)
    assert not Agent.objects.filter(pk=agent.pk).exists()
    assert alice.get(reverse("web:agent", args=[environment.slug, "failed"])).status_code == 404
    board = alice.get(reverse("web:environment", args=[environment.slug]))
    assert "failed" not in board.content.decode()
    assert all(entry.agent.deleted_at is None for entry in board.context["own_agents"])
    entry = AuditEntry.objects.get(action="delete_agent")
    assert (entry.operator, entry.object_name) == ("alice", "failed")
    factories.agent(cast.bob, environment, "failed")


def test_an_agent_with_rated_matches_or_a_score_is_not_deleted(cast: Cast, stage: Stage, visit: As) -> None:
    scored = factories.ready(factories.agent(cast.alice, factories.task(), "scored"))
    factories.evaluation(scored)
    alice = visit(cast.alice)
    for agent, why in ((scored.agent, "results on the board"), (stage.anna.agent, "has rated matches")):
        assert why in act(alice, "delete", agent)
        refused = alice.delete(f"/api/v1/agents/{agent.pk}/")
        assert (refused.status_code, why in refused.content.decode()) == (400, True)
        agent.refresh_from_db()
        assert agent.deleted_at is None


def test_an_agent_of_nobody_else_is_deleted_over_the_api(cast: Cast, environment: Environment, visit: As) -> None:
    agent = factories.agent(cast.alice, environment, "failed")
    address = f"/api/v1/agents/{agent.pk}/"
    assert visit(cast.bob).delete(address).status_code == 403
    alice = visit(cast.alice)
    assert alice.delete(address).status_code == 204
    assert alice.get(address).status_code == alice.delete(address).status_code == 404
