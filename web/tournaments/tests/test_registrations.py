"""Owners register agents on the page of a planned tournament, and by the API."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from core.models import Environment, Registration, Tournament, TournamentState
from core.people.tokens import token_create
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.planning import tournament_call_off
from web.conftest import As

pytestmark = pytest.mark.django_db
PAGE = "/environments/tic-tac-toe/editions/1/"


@pytest.fixture
def cup(environment: Environment) -> Tournament:
    return factories.planned(environment)


def test_an_owner_registers_an_agent_and_withdraws_it(cast: Cast, cup: Tournament, visit: As) -> None:
    anna = factories.ready(factories.agent(cast.alice, cup.environment, "anna")).agent
    alice = visit(cast.alice)
    assertContains(alice.get(PAGE), 'aria-label="Register anna"')
    assertContains(alice.post(f"{PAGE}register/", {"agent": anna.pk}, follow=True), "anna is registered.")
    assertContains(alice.get(PAGE), 'aria-label="Withdraw anna"')
    # All visitors see the registered agents; others' agents cannot be withdrawn.
    assertContains(visit(None).get(PAGE), ">anna</a>")
    assert visit(cast.bob).post(f"{PAGE}withdraw/", {"agent": anna.pk}).status_code == 404
    assertContains(alice.post(f"{PAGE}withdraw/", {"agent": anna.pk}, follow=True), "no longer registered")
    assert not Registration.objects.exists()


def test_the_page_says_why_registration_is_closed(cast: Cast, cup: Tournament, visit: As) -> None:
    unfit = factories.agent(cast.alice, cup.environment, "anna")
    alice = visit(cast.alice)
    assertContains(alice.get(PAGE), "anna has no version that may play")
    assertContains(alice.post(f"{PAGE}register/", {"agent": unfit.pk}, follow=True), "no version that may play")
    assertContains(visit(None).get(PAGE), "Log in</a> to register an agent")
    Tournament.objects.update(eligibility="TEAMS", teams=["Red"])
    assertContains(alice.get(PAGE), "This tournament is for members of these teams: Red; yours is Blue.")
    Tournament.objects.update(registration_closes_at=timezone.now() - timedelta(minutes=1))
    page = alice.get(PAGE)
    assertContains(page, "Registration closed on")
    assertNotContains(page, "Register anna")
    assertNotContains(page, "anna has no version that may play")
    tournament_call_off(tournament=cup, reason="Too few agents.")
    assertContains(alice.get(PAGE), "Too few agents.")


def test_an_open_page_is_loaded_again_once_the_tournament_has_begun(cup: Tournament, visit: As) -> None:
    client, part = visit(None), {"HX-Request": "true", "HX-Target": "planned"}
    assertContains(client.get(PAGE), 'id="planned" hx-get=')
    waiting = client.get(PAGE, headers=part)
    assert (waiting.status_code, "HX-Refresh" in waiting.headers) == (204, False)
    Tournament.objects.update(state=TournamentState.RUNNING, started_at=timezone.now())
    assert client.get(PAGE, headers=part).headers["HX-Refresh"] == "true"


def test_lists_say_that_registration_is_open(cup: Tournament, visit: As) -> None:
    Tournament.objects.update(registration_closes_at=None, starts_at=None)
    assertContains(visit(None).get("/tournaments/"), "registration is open")
    assertContains(visit(None).get("/"), "Registration is open")
    Tournament.objects.update(registration_closes_at=timezone.now())
    assertContains(visit(None).get("/tournaments/"), "no date yet")


def test_without_registration_pages_say_who_takes_part(cup: Tournament, visit: As) -> None:
    Tournament.objects.update(
        registration_opens_at=None, registration_closes_at=None, eligibility="TEAMS", teams=["Blue"], max_participants=8
    )
    page = visit(None).get(PAGE)
    assertContains(
        page, "every agent of members of Blue that may play takes part. If there are more than 8, only the 8 strong"
    )
    for address in (PAGE, "/environments/tic-tac-toe/tournaments/"):
        assertNotContains(visit(None).get(address), "0 of 8")
        assertNotContains(visit(None).get(address), "places left")


def test_the_page_says_that_an_owner_has_registered_as_many_as_may(cast: Cast, cup: Tournament, visit: As) -> None:
    for name in ("anna", "berta", "clara"):
        agent = factories.ready(factories.agent(cast.alice, cup.environment, name)).agent
        if name != "clara":
            Registration.objects.create(tournament=cup, agent=agent)
    page = visit(cast.alice).get(PAGE)
    assertContains(page, "Each owner may register up to 2 agents; withdraw another first.", count=1)
    assertNotContains(page, "Register clara")
    # Where registration is closed, owners are not told to withdraw.
    Tournament.objects.update(registration_closes_at=timezone.now() - timedelta(minutes=1))
    assertNotContains(visit(cast.alice).get(PAGE), "withdraw another first")


def test_the_page_says_who_waits_for_a_place(cast: Cast, cup: Tournament, visit: As) -> None:
    for owner, name in ((cast.alice, "anna"), (cast.alice, "berta"), (cast.bob, "dora")):
        agent = factories.ready(factories.agent(owner, cup.environment, name)).agent
        Registration.objects.create(tournament=cup, agent=agent)
    Tournament.objects.update(max_participants=2)
    page = visit(cast.bob).get(PAGE)
    assertContains(page, "This one plays if a place becomes free.", count=1)
    assertContains(page, "waiting for a place", count=1)
    assertNotContains(visit(cast.alice).get(PAGE), "This one plays if a place becomes free.")


def test_an_owner_exchanges_an_agent_on_the_page(cast: Cast, cup: Tournament, visit: As) -> None:
    anna, berta = (factories.ready(factories.agent(cast.alice, cup.environment, n)).agent for n in ("anna", "berta"))
    factories.agent(cast.alice, cup.environment, "not-ready")
    row = Registration.objects.create(tournament=cup, agent=anna)
    Tournament.objects.update(registration_closes_at=timezone.now() - timedelta(minutes=1))
    alice = visit(cast.alice)
    page = alice.get(PAGE)
    assertContains(page, f'<option value="{berta.pk}">berta</option>', html=True)
    assertContains(page, "<option", count=1)
    answer = alice.post(f"{PAGE}exchange/", {"agent": anna.pk, "other": berta.pk}, follow=True)
    assertContains(answer, "berta plays instead of anna.")
    row.refresh_from_db()
    assert row.agent == berta


def test_programs_register_and_withdraw(cast: Cast, cup: Tournament) -> None:
    anna = factories.ready(factories.agent(cast.alice, cup.environment, "anna")).agent
    address = f"/api/v1/tournaments/{cup.pk}/registrations/"
    _, token = token_create(owner=cast.alice, name="test", now=timezone.now(), days=1)
    program = Client(headers={"Authorization": f"Bearer {token}"})

    def send(agent: int) -> tuple[int, object]:
        response = program.post(address, {"agent": agent}, content_type="application/json")
        return response.status_code, response.json()

    assert send(anna.pk)[0] == 201
    assert send(anna.pk) == (400, {"agent": ["anna is registered already."], "code": "registered"})
    assert send(factories.agent(cast.bob, cup.environment, "berta").pk)[0] == 403
    assert send(10**9)[0] == 404
    assert [row["agent"]["name"] for row in Client().get(address).json()["results"]] == ["anna"]
    dora = factories.ready(factories.agent(cast.alice, cup.environment, "dora")).agent
    for agent, other in ((anna, dora), (dora, anna)):
        given = program.patch(f"{address}{agent.pk}/", {"agent": other.pk}, content_type="application/json")
        assert (given.status_code, given.json()["agent"]["name"]) == (200, other.name)
    assert program.delete(f"{address}{anna.pk}/").status_code == 204
    assert program.delete(f"{address}{anna.pk}/").json() == {
        "agent": ["anna is not registered."],
        "code": "not_registered",
    }


def test_a_season_is_found_from_its_environment_and_by_the_api(cast: Cast, environment: Environment, visit: As) -> None:
    rows = [factories.ready(factories.agent(cast.alice, environment, name)) for name in ("anna", "berta")]
    season = factories.season(environment)
    played = factories.tournament(rows)
    Tournament.objects.update(season=season, results="PUBLIC")
    address = f"/environments/tic-tac-toe/seasons/{season.pk}/"
    for page in ("", "tournaments/"):
        assertContains(visit(None).get(f"/environments/tic-tac-toe/{page}"), f'href="{address}"')
    Tournament.objects.update(is_automatic=False)
    assertContains(visit(None).get(PAGE), f'href="{address}"')
    assertContains(visit(None).get(address), '<td class="num"><strong>1</strong></td>', html=True)
    table = Client().get(f"/api/v1/seasons/{season.pk}/table/").json()
    assert table["tournaments"] == [played.pk]
    assert [(row["rank"], row["agent"]["name"], row["total"], row["points"]) for row in table["results"]] == [
        (1, "anna", 1.0, [1.0]),
        (2, "berta", 0.0, [0.0]),
    ]
