from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from core.models import Environment, User
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.people import views as users
from web.tests.house import furnished

pytestmark = pytest.mark.django_db
PAGES = (
    "/", "/status/?id={scored_id}", "/environments/{slug}/", "/environments/{slug}/editions/{edition}/",
    "/environments/{slug}/editions/{edition}/agents/{agent}/", "/environments/{slug}/agents/{agent}/",
    "/environments/{task}/", "/environments/{task}/compare/?id={scored_id}", "/duels/{duel}/",
    "/duels/{duel}/matches/3/", "/validations/{validation}/matches/1/", "/evaluations/{evaluation}/",
)  # fmt: skip
"""Pages that name alice."""


def test_the_page_shows_team_github_and_the_rank_of_each_agent(
    client: Client, cast: Cast, environment: Environment
) -> None:
    cast.alice.github = "alice-rl"
    cast.alice.save()
    mine = factories.agent(cast.alice, environment, "mine")
    old, new = factories.ready(mine), factories.ready(mine)
    rivals = [factories.ready(factories.agent(cast.bob, environment)) for _ in range(2)]
    factories.tournament([old, *rivals], edition=1)
    factories.tournament([rivals[0], new, rivals[1]], edition=2)
    page = client.get("/users/alice/").content.decode()
    assert "Blue" in page
    assert 'href="https://github.com/alice-rl" rel="nofollow noopener noreferrer"' in page
    assert "2nd of 3" in page
    assert "v2, rating 1500" in page


def test_an_agent_without_a_finished_edition_is_not_ranked_yet(
    client: Client, cast: Cast, environment: Environment
) -> None:
    factories.agent(cast.alice, environment, "tried")
    assert "No agents yet." in client.get("/users/ALICE/").content.decode()
    factories.ready(factories.agent(cast.alice, environment))
    assert "not ranked yet" in client.get("/users/ALICE/").content.decode()


def test_an_email_address_is_shown_to_its_owner_alone(cast: Cast, visit: As) -> None:
    for person in (None, cast.bob):
        assert cast.alice.email not in visit(person).get("/users/alice/").content.decode()


def test_unknown_and_closed_accounts_are_not_found(client: Client, cast: Cast) -> None:
    cast.bob.is_active = False
    cast.bob.save()
    for name in ("bob", "nobody", "<script>"):
        assert client.get(f"/users/{name}/").status_code == 404


@pytest.mark.slow
def test_no_page_leads_to_a_closed_account(cast: Cast, visit: As) -> None:
    house, olga = furnished(cast), visit(cast.olga)

    def leading() -> set[str]:
        pages = {address: olga.get(address.format(**house)).content.decode() for address in PAGES}
        return {address for address, page in pages.items() if 'href="/users/alice/"' in page}

    assert len(leading()) > 5
    User.objects.filter(pk=cast.alice.pk).update(is_active=False)
    # A board is kept for a second.
    cache.clear()
    assert leading() == set()


def test_more_agents_take_no_more_queries(
    client: Client, cast: Cast, environment: Environment, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    players = [factories.ready(factories.agent(cast.alice, environment)) for _ in range(4)]
    for edition in (1, 2, 3):
        factories.tournament(players, edition=edition)
    with django_assert_num_queries(5):
        assert client.get("/users/alice/").status_code == 200


def test_many_agents_are_shown_page_by_page(
    client: Client, cast: Cast, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "AGENTS_A_PAGE", 2)
    for name in ("a", "b", "c"):
        factories.ready(factories.agent(cast.alice, environment, name))

    first, last = (client.get(f"/users/alice/{query}").content.decode() for query in ("", "?page=99"))

    assert [f"/agents/{name}/" in first for name in "abc"] == [True, True, False]
    assert [f"/agents/{name}/" in last for name in "abc"] == [False, False, True]
    assert "page 1 of 2" in first
    assert 'href="?page=2#agents"' in first
