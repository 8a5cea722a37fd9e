"""What new users stumbled over: each finding of their review that a page can show."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from core.evaluations.services import _episodes_to_record
from core.models import Environment, JobState, LedgerVoid, Recording
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.templatetags.arena import sentence, span

pytestmark = pytest.mark.django_db


def test_only_agents_that_can_play_are_counted_on_a_card(client: Client, cast: Cast, environment: Environment) -> None:
    factories.ready(factories.agent(cast.alice, environment, "works"))
    broken = factories.submission(factories.agent(cast.bob, environment, "never-worked"))
    factories.build(broken)
    factories.validation(broken, JobState.FAILED)
    task = factories.task()
    ranked = factories.ready(factories.agent(cast.alice, task, "ranked"))
    factories.evaluation(ranked)
    unranked = factories.ready(factories.agent(cast.bob, task, "unranked"))
    factories.evaluation(unranked, JobState.FAILED)
    counts = {card.environment.slug: card.figures[:2] for card in client.get("/").context["cards"]}
    assert counts == {"tic-tac-toe": (1, 1), "cart-pole": (1, 1)}


def test_ones_own_list_shows_the_version_that_plays(cast: Cast, environment: Environment, visit: As) -> None:
    agent = factories.agent(cast.alice, environment, "mine")
    factories.ready(agent)
    newest = factories.ready(agent)
    page = visit(cast.alice).get("/environments/tic-tac-toe/")
    assert [(entry.number, entry.playing) for entry in page.context["own_agents"]] == [(2, None)]
    newest.is_benched = True
    newest.save()
    page = visit(cast.alice).get("/environments/tic-tac-toe/")
    (entry,) = page.context["own_agents"]
    assert (entry.number, entry.playing, entry.is_benched) == (2, 1, True)
    assert "Benched" in page.content.decode()


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING])
def test_an_evaluation_that_is_not_over_is_not_verified_yet(client: Client, cast: Cast, state: JobState) -> None:
    row = factories.evaluation(factories.ready(factories.agent(cast.alice, factories.task())), state)
    shown = client.get(f"/evaluations/{row.pk}/").content.decode()
    assert "Will be verified" in shown
    assert ">Verified<" not in shown


def test_equal_scores_are_a_sentence_and_one_recording(client: Client, cast: Cast) -> None:
    client.force_login(cast.olga)
    submission = factories.ready(factories.agent(cast.alice, factories.task()))
    row = factories.evaluation(submission, scores=(500.0,) * 4)
    for choice in Recording.Choice:
        Recording.objects.create(evaluation=row, choice=choice, episode_number=1)
    page = client.get(f"/evaluations/{row.pk}/")
    assert "All 4 episodes scored 500." in " ".join(page.content.decode().split())
    assert "histogram" not in page.context
    assert [view.key for view in page.context["recordings"]] == ["best"]


def test_the_same_episode_is_drawn_once() -> None:
    rows: list[Any] = [[number, 500.0, 500, False] for number in range(1, 5)]
    assert len(_episodes_to_record(rows)) == 1
    assert len(_episodes_to_record([[1, 1.0, 9, False], [2, 2.0, 9, False], [3, 3.0, 9, False]])) == 3  # type: ignore[list-item]


def test_programs_and_indexes_are_told_what_is_here(client: Client, environment: Environment) -> None:
    robots = client.get("/robots.txt")
    assert (robots.status_code, robots["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert "Disallow: /admin/" in robots.content.decode()
    assert '<meta name="description" content="Upload agents' in client.get("/").content.decode()
    assert 'content="Tic-tac-toe: leaderboard' in client.get("/environments/tic-tac-toe/").content.decode()


def test_browsers_are_told_what_to_fill_in(client: Client, db: None) -> None:
    assert client.get("/login/").context["form"].fields["username"].widget.attrs["autocomplete"] == "username"
    fields = client.get("/sign-up/").context["form"].fields
    assert {name: fields[name].widget.attrs.get("autocomplete") for name in ("email", "username", "password1")} == {
        "email": "email",
        "username": "nickname",
        "password1": "new-password",
    }


def test_schedules_and_plans_offer_only_what_there_is(cast: Cast, settings: Settings, visit: As) -> None:
    factories.environment()
    factories.task()
    settings.TEAMS = ()
    client = visit(cast.olga)
    schedule = client.get("/organise/schedules/add/").context["form"]
    assert [str(row) for row in schedule.fields["environment"].queryset] == ["Tic-tac-toe", "CartPole"]
    assert schedule.fields["teams"].widget.is_hidden
    plan = client.get("/organise/tournaments/plan/").context["form"]
    assert "TEAMS" not in dict(plan.fields["eligibility"].choices)
    assert "Each owner may register" in plan.fields["registration_opens_at"].help_text
    settings.TEAMS = ("Blue", "Red")
    plan = client.get("/organise/tournaments/plan/").context["form"]
    assert "TEAMS" in dict(plan.fields["eligibility"].choices)


def test_episodes_come_in_pages_and_figures_in_few_digits(client: Client, cast: Cast) -> None:
    client.force_login(cast.olga)
    row = factories.evaluation(factories.ready(factories.agent(cast.alice, factories.task())))
    address = f"/api/v1/evaluations/{row.pk}/episodes/"
    first = client.get(f"{address}?page_size=3").json()
    assert (first["count"], len(first["results"]), first["previous"]) == (4, 3, None)
    assert [episode["number"] for episode in client.get(first["next"]).json()["results"]] == [4]
    assert client.get(f"{address}?page_size=0").status_code == 400
    assert len(json.dumps(first["results"][0]["thinking_seconds"])) < 12


def test_reasons_end_with_a_full_stop_and_limits_are_written_as_people_say_them() -> None:
    assert [sentence("The order was wrong"), sentence("Why?"), sentence("So. ")] == [
        "The order was wrong.",
        "Why?",
        "So. ",
    ]
    assert [span(120.0), span(45.0), span(90.0), span(150)] == ["2 min", "45 s", "1.5 min", "2.5 min"]


def test_a_void_duel_gives_its_reason_as_a_sentence(client: Client, cast: Cast, environment: Environment) -> None:
    players = [factories.ready(factories.agent(owner, environment)) for owner in (cast.alice, cast.bob)]
    duel = factories.tournament(players).duels.get()
    LedgerVoid.objects.create(duel=duel, reason="The seat order was wrong")
    assert "The seat order was wrong. This duel counts" in " ".join(
        client.get(f"/duels/{duel.pk}/").content.decode().split()
    )


def test_a_running_validation_says_how_long_it_takes_at_most(cast: Cast, environment: Environment, visit: As) -> None:
    submission = factories.submission(factories.agent(cast.alice, environment, "mine"))
    factories.build(submission)
    factories.validation(submission, JobState.RUNNING)
    assert "At most 2 min" in visit(cast.alice).get("/environments/tic-tac-toe/agents/mine/").content.decode()
