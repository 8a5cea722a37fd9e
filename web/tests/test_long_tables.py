"""Long tables in pages: those of an edition, of an agent's duels in it, and of its versions."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from django.test import Client

from core.models import Duel, Environment, Rating, Submission, TournamentState
from core.tests import factories
from core.tests.factories import Cast
from tests.worlds import Fresh
from web.conftest import As
from web.environments import parts as environments
from web.ratings import board
from web.submissions import parts as agents
from web.tournaments import views as tournaments

pytestmark = pytest.mark.django_db
GAME = "/environments/tic-tac-toe/"
EDITION = f"{GAME}editions/1/"
NAMES = ["alpha", "beta", "gamma", "delta", "epsilon"]


@pytest.fixture(autouse=True)
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two rows, so that five make three."""
    monkeypatch.setattr(environments, "ROWS_A_PAGE", 2)
    monkeypatch.setattr(board, "ROWS_A_PAGE", 2)
    monkeypatch.setattr(tournaments, "DUELS_A_PAGE", 2)
    monkeypatch.setattr(agents, "VERSIONS_A_PAGE", 2)


@pytest.fixture(scope="module")
def shared_players(shared_cast: Cast, shared_environment: Environment) -> list[Submission]:
    """All of them in the first edition, ranked as they stand here but for two in the middle, which are as good."""
    owners = [shared_cast.alice, shared_cast.bob, shared_cast.bob, shared_cast.charlie, shared_cast.alice]
    rows = [
        factories.ready(factories.agent(owner, shared_environment, name))
        for owner, name in zip(owners, NAMES, strict=True)
    ]
    tournament = factories.tournament(rows)
    for row, rank in zip(rows, (1, 2, 3, 3, 5), strict=True):
        tournament.participants.filter(submission=row).update(rank=rank)
        Rating.objects.filter(submission=row).update(rank=rank)
    return rows


@pytest.fixture
def players(shared_players: list[Submission], fresh: Fresh) -> list[Submission]:
    return fresh(shared_players)


def table(client: Client, address: str) -> list[tuple[str, str]]:
    """Rank and name of every row."""
    page = client.get(address).content.decode()
    rows = re.findall(r'class="rank"><span>(\S+)</span>.*?class="name"[^>]*>(\w+)</a>', page, re.DOTALL)
    return [(rank, name) for rank, name in rows]


def leads(client: Client, address: str) -> list[str]:
    """Where the pager leads."""
    page = client.get(address).content.decode()
    return re.findall(r'<a rel="\w+" href="([^"]+)"', page)


@pytest.mark.parametrize("address", [GAME, EDITION])
@pytest.mark.usefixtures("players")
def test_ranks_go_on_from_page_to_page_and_no_agent_is_left_out(client: Client, address: str) -> None:
    assert table(client, address) == [("1", "alpha"), ("2", "beta")]
    # Of equals the first by name comes first.
    assert table(client, f"{address}?page=2") == [("3", "delta"), ("3", "gamma")]
    assert table(client, f"{address}?page=3") == [("5", "epsilon")]

    assert leads(client, address) == [f"{address}?page=2#leaderboard"]
    assert leads(client, f"{address}?page=2") == [f"{address}?page=1#leaderboard", f"{address}?page=3#leaderboard"]


@pytest.mark.usefixtures("players")
def test_the_keyboard_stays_on_the_pager_when_a_running_table_is_drawn_anew(client: Client) -> None:
    # htmx gives the focus back to what has the same id.
    page = client.get(f"{EDITION}?page=2").content.decode()
    found = re.findall(r'<a rel="(\w+)"[^>]* id="([\w-]+)"', page)
    assert found == [("prev", "leaderboard-previous"), ("next", "leaderboard-next")]


@pytest.mark.parametrize(
    ("page", "first"),
    [("0", "alpha"), ("-1", "alpha"), ("", "alpha"), ("two", "alpha"), ("9" * 5000, "alpha"), ("99", "epsilon")],
)
@pytest.mark.usefixtures("players")
def test_a_page_that_is_none_shows_the_nearest(client: Client, page: str, first: str) -> None:
    assert table(client, f"{EDITION}?page={page}")[0][1] == first


@pytest.mark.usefixtures("players")
def test_people_are_led_to_their_own_agents_on_other_pages(cast: Cast, visit: As) -> None:
    shown = visit(cast.alice).get(EDITION).content.decode()
    assert "own-place-1" not in shown
    assert re.search(r'href="/environments/tic-tac-toe/editions/1/\?page=3#leaderboard">epsilon</a>: rank 5<', shown)

    bob = visit(cast.bob)
    assert re.search(r'page=2#leaderboard">gamma</a>: rank 3<', bob.get(EDITION).content.decode())
    (own,) = re.findall(r'own-place-\d+"\s+href="([^"]+)"', bob.get(f"{EDITION}?page=2").content.decode())
    assert ("2", "beta") in table(bob, own)


@pytest.mark.usefixtures("players")
def test_strangers_are_led_to_no_own_agent(client: Client, cast: Cast, visit: As) -> None:
    assert "own-place" not in client.get(EDITION).content.decode()
    assert "own-place" not in visit(cast.olga).get(EDITION).content.decode()


def test_a_page_of_a_running_edition_follows_its_own_rows(players: Sequence[Submission], client: Client) -> None:
    factories.tournament(players, edition=2, state=TournamentState.RUNNING)

    assert f'hx-get="{GAME}?page=2"' in client.get(f"{GAME}?page=2").content.decode()
    asked = f"{GAME}editions/2/agents/alpha/?page=2"
    assert f'hx-get="{asked}"' in client.get(asked).content.decode()


def test_duels_of_an_agent_are_paged_by_the_rank_of_the_opponent(client: Client, players: Sequence[Submission]) -> None:
    def opponents(page: int) -> list[str]:
        shown = client.get(f"{EDITION}agents/alpha/?page={page}").content.decode()
        return re.findall(r'id="opponent-\d+"[^>]*>(\w+)</a>', shown)

    first, second = opponents(1), opponents(2)
    assert [len(first), len(second)] == [2, 2]
    assert first[0] == "beta"
    assert {*first, *second} == {*NAMES[1:]}
    assert second[-1] == "epsilon"
    assert opponents(9) == second


def test_versions_are_paged_and_each_is_found_by_its_number(
    cast: Cast, environment: Environment, client: Client
) -> None:
    agent = factories.agent(cast.alice, environment, "many")
    for _ in range(5):
        factories.ready(agent)

    def versions(query: str) -> list[int]:
        return [row.submission.number for row in client.get(f"{GAME}agents/many/{query}").context["versions"]]

    assert versions("") == [5, 4]
    assert versions("?page=3") == [1]
    assert versions("?version=2") == [3, 2]
    assert versions("?version=2&page=1") == [5, 4]
    assert versions("?version=none") == [5, 4]


@pytest.mark.parametrize("ordering", ["", "&ordering=created_at"])
def test_pages_of_the_api_are_one_list(client: Client, players: Sequence[Submission], ordering: str) -> None:
    asked = f"/api/v1/duels/?agent={players[0].agent_id}&page_size=3{ordering}"
    pages = [client.get(f"{asked}&page={number}").json()["results"] for number in (1, 2)]

    own = Duel.objects.filter(player_1=players[0]).order_by("pk" if ordering else "-pk")
    assert [row["id"] for page in pages for row in page] == [duel.pk for duel in own]
    assert [len(page) for page in pages] == [3, 1]
