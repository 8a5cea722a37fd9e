"""The table of an edition, filtered and sorted by its address."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from core.models import Environment, Rating, Submission
from core.ratings.tables import SORTS
from core.tests import factories
from core.tests.factories import NOON, Cast
from tests.worlds import Fresh
from web.conftest import As

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture(scope="module")
def shared_rows(shared_cast: Cast, shared_environment: Environment) -> list[Submission]:
    """anna (alice, Blue), Berta (bob, Blue) and clara (charlie, Red), ranked in this order; clara played most."""
    owners = (shared_cast.alice, shared_cast.bob, shared_cast.charlie)
    found = [
        factories.ready(factories.agent(owner, shared_environment, name))
        for owner, name in zip(owners, ("anna", "Berta", "clara"), strict=True)
    ]
    factories.tournament(found)
    Rating.objects.filter(submission=found[2]).update(match_count=900, value=1590, low=1500, high=1600)
    Submission.objects.filter(pk=found[1].pk).update(created_at=NOON)
    return found


@pytest.fixture
def rows(shared_rows: list[Submission], fresh: Fresh) -> list[Submission]:
    return fresh(shared_rows)


def shown(client: Client, query: str = "") -> list[str]:
    page = client.get(f"/environments/tic-tac-toe/{query}").content.decode()
    return re.findall(r'<a class="name"[^>]*>([^<]*)</a>', page)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["anna", "Berta", "clara"]),
        ("?sort=rating", ["clara", "anna", "Berta"]),
        ("?sort=name", ["anna", "Berta", "clara"]),
        ("?sort=owner", ["anna", "Berta", "clara"]),
        ("?sort=matches", ["clara", "anna", "Berta"]),
        ("?sort=newest", ["clara", "anna", "Berta"]),
        ("?sort=nothing", ["anna", "Berta", "clara"]),
        ("?owner=BO", ["Berta"]),
        ("?team=blue&sort=name", ["anna", "Berta"]),
        ("?q=ERT", ["Berta"]),
        ("?q=charlie", ["clara"]),
        ("?q=red", ["clara"]),
        ("?matches_min=100", ["clara"]),
        ("?matches_min=0", ["anna", "Berta", "clara"]),
        ("?q=nobody", []),
        ("?q=%00&owner=a", ["anna", "clara"]),
    ],
)
def test_an_address_says_what_of_the_table_is_shown(
    client: Client, rows: list[Submission], query: str, names: list[str]
) -> None:
    assert shown(client, query) == names


@pytest.mark.parametrize("sort", SORTS)
def test_every_order_holds_everybody_once(client: Client, rows: list[Submission], sort: str) -> None:
    assert sorted(shown(client, f"?sort={sort}")) == ["Berta", "anna", "clara"]


def test_links_keep_what_was_asked_for(client: Client, rows: list[Submission]) -> None:
    page = client.get("/environments/tic-tac-toe/editions/1/?team=blue&sort=name&page=1")
    assertContains(page, "?team=blue&amp;sort=rating#leaderboard")
    assertContains(page, "/leaderboard.csv?team=blue&amp;sort=name&amp;edition=1")
    assertContains(page, '<input type="hidden" name="sort" value="name">', html=True)
    assertContains(page, 'Edition 1 <span class="muted">filtered</span>')


def test_what_cannot_be_asked_for_is_said_and_not_applied(client: Client, rows: list[Submission]) -> None:
    page = client.get("/environments/tic-tac-toe/?matches_min=-1")
    assertContains(page, "greater than or equal to 0")
    assert shown(client, "?matches_min=99999999999999999999") == ["anna", "Berta", "clara"]


def test_an_empty_search_shows_the_way_back(client: Client, rows: list[Submission]) -> None:
    page = client.get("/environments/tic-tac-toe/?q=nobody")
    assertContains(page, "No agent matches this filter.")
    assertNotContains(page, "leaderboard.csv")


def test_own_places_are_counted_in_the_whole_table_alone(
    visit: As, cast: Cast, rows: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.ratings.board.ROWS_A_PAGE", 1)
    client = visit(cast.charlie)
    assertContains(client.get("/environments/tic-tac-toe/"), 'id="own-place-')
    assertNotContains(client.get("/environments/tic-tac-toe/?sort=name"), 'id="own-place-')


def test_the_api_filters_by_the_same_names(client: Client, rows: list[Submission]) -> None:
    tournament = rows[0].participations.get().tournament_id
    for query, names in (("team=blue", ["anna", "Berta"]), ("q=charlie", ["clara"]), ("matches_min=100", ["clara"])):
        found = client.get(f"/api/v1/tournaments/{tournament}/participants/?{query}").json()["results"]
        assert [row["submission"]["agent"]["name"] for row in found] == names
