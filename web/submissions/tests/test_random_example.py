"""The button that uploads the random example as one's own agent."""

from __future__ import annotations

import pytest
from django.test import Client
from rest_framework.throttling import SimpleRateThrottle

from arena_kit.examples import make_archive
from core.models import Agent, Environment, JobState, Submission
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As

pytestmark = pytest.mark.django_db
ADDRESS = "/environments/tic-tac-toe/random-example/"
BUTTON = f'action="{ADDRESS}" data-once'
AGENTS = "/environments/tic-tac-toe/agents/"


def test_one_click_makes_an_agent_of_ones_own_with_a_waiting_build(
    cast: Cast, environment: Environment, visit: As
) -> None:
    response = visit(cast.alice).post(ADDRESS)
    assert (response.status_code, response["Location"]) == (302, f"{AGENTS}random-alice/")
    agent = Agent.objects.get()
    assert (agent.owner, agent.name, agent.is_public) == (cast.alice, "random-alice", False)
    submission = agent.submissions.get()
    with submission.archive.open() as stored:
        assert stored.read() == make_archive("random")
    assert submission.latest_build is not None
    assert submission.latest_build.state == JobState.QUEUED
    assert "random-alice" in visit(cast.alice).get(response["Location"]).content.decode()


def test_a_board_says_that_the_example_acts_at_random(cast: Cast, visit: As) -> None:
    assert visit(cast.alice).post(f"/environments/{factories.task().slug}/random-example/").status_code == 302
    assert Submission.objects.get().algorithm == "Random actions"


def test_a_second_click_is_the_same_agent(cast: Cast, environment: Environment, visit: As) -> None:
    first, second = (visit(cast.alice).post(ADDRESS, follow=True) for _ in range(2))
    assert first.redirect_chain == second.redirect_chain
    assert "nothing new was uploaded" in second.content.decode()
    assert Submission.objects.count() == 1


def test_a_name_that_is_taken_gets_a_number(cast: Cast, environment: Environment, visit: As) -> None:
    factories.agent(cast.bob, environment, "Random-Alice")
    # One's own with other files is no twin.
    factories.submission(factories.agent(cast.alice, environment, "random-alice-2"))
    assert visit(cast.alice).post(ADDRESS)["Location"] == f"{AGENTS}random-alice-3/"


@pytest.mark.parametrize(
    ("username", "name"),
    [
        ("a@b.c+d", "random-a-b-c-d"),
        ("..", "random-player"),
        ("x" * 150, f"random-{'x' * 38}"),
        ("_é_", "random-player"),
        ("ſK", "random-K"),
        ("مريم", "random-player"),
    ],
)
def test_a_user_name_becomes_the_name_of_an_agent(
    environment: Environment, visit: As, username: str, name: str
) -> None:
    visit(factories.user(username)).post(ADDRESS)
    assert Agent.objects.get().name == name


def test_quotas_and_closed_environments_refuse_it_as_any_upload(
    cast: Cast, environment: Environment, visit: As
) -> None:
    environment.quota_uploads_per_day = 1
    environment.save()
    factories.submission(factories.agent(cast.alice, environment, "mine"))
    response = visit(cast.alice).post(ADDRESS)
    assert (response.status_code, "Retry-After" in response) == (429, True)
    assert "the 1 uploads a day to Tic-tac-toe are used up" in response.content.decode()
    environment.is_active = False
    environment.save()
    response = visit(cast.alice).post(ADDRESS)
    assert response.status_code == 422
    assert "accepts no uploads at the moment" in response.content.decode()
    assert Agent.objects.get().name == "mine"


def test_it_is_not_taken_from_another_site_or_a_visitor(cast: Cast, environment: Environment) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.alice)
    assert client.post(ADDRESS).status_code == 403
    response = Client().post(ADDRESS)
    assert response["Location"] == f"/login/?next={ADDRESS}"
    assert not Agent.objects.exists()


def test_clicks_count_as_uploads(
    cast: Cast, environment: Environment, visit: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = {**SimpleRateThrottle.THROTTLE_RATES, "upload": "1/min"}
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", rates)
    assert [visit(cast.alice).post(ADDRESS).status_code for _ in range(2)] == [302, 429]


def test_an_environment_that_the_example_cannot_play_refuses_it(cast: Cast, visit: As) -> None:
    task = factories.task()
    task.takes_players = False
    task.save()
    response = visit(cast.alice).post(f"/environments/{task.slug}/random-example/")
    assert response.status_code == 422
    assert "There is no random example for" in response.content.decode()


def test_the_button_is_offered_to_those_without_an_agent(
    client: Client, cast: Cast, environment: Environment, visit: As
) -> None:
    pages = ("/", "/environments/tic-tac-toe/write/")
    assert all(BUTTON in visit(cast.alice).get(page).content.decode() for page in pages)
    assert not any(BUTTON in client.get(page).content.decode() for page in pages)
    factories.agent(cast.alice, environment)
    assert not any(BUTTON in visit(cast.alice).get(page).content.decode() for page in pages)


def test_the_home_page_offers_the_easiest_environment_that_is_open(
    cast: Cast, environment: Environment, visit: As
) -> None:
    factories.environment("connect-four")
    factories.task()

    def offered() -> Environment | None:
        found: Environment | None = visit(cast.alice).get("/").context["example"]
        return found

    assert str(offered()) == "Tic-tac-toe"
    environment.is_active = False
    environment.save()
    assert str(offered()) == "CartPole"
    Environment.objects.filter(slug="cart-pole").update(unavailable_because="A package is missing.")
    assert str(offered()) == "Connect Four"
    Environment.objects.filter(slug="connect-four").update(is_active=False)
    assert offered() is None
    assert "Three steps" in visit(cast.alice).get("/").content.decode()
