"""Feeds of an environment and of an agent: results, new leaders and new versions, without what is withheld."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from django.test import Client

from core.models import Agent, Environment, JobState, Submission, Tournament
from core.submissions.naming import agent_rename
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.ladders import agent_rest

pytestmark = pytest.mark.django_db
ATOM = "{http://www.w3.org/2005/Atom}"
GAME = "/environments/tic-tac-toe/feed.atom"
ANNA = "/environments/tic-tac-toe/agents/anna/feed.atom"
START = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def players(cast: Cast, environment: Environment) -> tuple[Submission, Submission]:
    anna = factories.ready(factories.agent(cast.alice, environment, "anna"))
    return anna, factories.ready(factories.agent(cast.bob, environment, "berta"))


@pytest.fixture
def cup(players: tuple[Submission, Submission]) -> Tournament:
    return factories.tournament(players)


def titles(client: Client, address: str) -> list[str]:
    answer = client.get(address)
    assert answer["Content-Type"].startswith("application/atom+xml")
    entries = ElementTree.fromstring(answer.content).findall(f"{ATOM}entry")
    keys = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert len(set(keys)) == len(keys)
    return [str(entry.findtext(f"{ATOM}title")) for entry in entries]


def test_a_feed_has_results_new_leaders_and_new_versions(
    client: Client, cup: Tournament, players: tuple[Submission, Submission]
) -> None:
    anna, berta = players
    for day, leader, other in ((0, anna, berta), (1, anna, berta), (2, berta, anna)):
        factories.rating_point(leader, START + timedelta(days=day), 1700, rank=1)
        factories.rating_point(other, START + timedelta(days=day), 1500, rank=2)
    shown = titles(client, GAME)
    assert [line for line in shown if "leads" in line] == ["berta leads Tic-tac-toe", "anna leads Tic-tac-toe"]
    assert sum("came 1st of " in line for line in shown) >= 1
    assert {"anna is new in Tic-tac-toe", "berta is new in Tic-tac-toe"} <= set(shown)
    own = titles(client, ANNA)
    assert [line for line in own if "leads" in line] == ["anna leads Tic-tac-toe"]
    assert all("anna" in line for line in own)


@pytest.mark.parametrize("results", ["HIDDEN", "PARTICIPANTS"])
def test_a_feed_withholds_results_that_strangers_may_not_see(client: Client, cup: Tournament, results: str) -> None:
    Tournament.objects.update(results=results)
    for address in (GAME, ANNA):
        assert [line for line in titles(client, address) if "edition" in line] == []


def test_a_feed_tells_nothing_of_failed_tries(client: Client, cast: Cast, environment: Environment) -> None:
    hidden = factories.agent(cast.alice, environment, "secret-try")
    factories.validation(factories.submission(hidden), JobState.FAILED)
    assert titles(client, GAME) == []
    assert client.get("/environments/tic-tac-toe/agents/secret-try/feed.atom").status_code == 404
    assert client.get("/environments/nothing/feed.atom").status_code == 404


def test_a_badge_and_a_feed_stay_at_the_address_of_a_former_name(client: Client, cup: Tournament) -> None:
    agent_rename(agent=Agent.objects.get(name="anna"), name="zoe")
    assert "zoe" in client.get(ANNA.replace("feed.atom", "badge.svg")).content.decode()
    assert "zoe is new in Tic-tac-toe" in titles(client, ANNA)


def test_browsers_may_show_a_badge_in_pages_elsewhere(client: Client, cup: Tournament) -> None:
    badge = client.get(ANNA.replace("feed.atom", "badge.svg"))
    assert badge["Cross-Origin-Resource-Policy"] == "cross-origin"


def test_the_badge_of_a_hidden_agent_says_so(client: Client, cup: Tournament) -> None:
    agent_rest(agent=Agent.objects.get(name="anna"), is_resting=True)
    assert "hidden" in client.get(ANNA.replace("feed.atom", "badge.svg")).content.decode()


def test_pages_name_their_feed(client: Client, cup: Tournament) -> None:
    assert f'href="{GAME}"' in client.get("/environments/tic-tac-toe/").content.decode()
    assert f'href="{ANNA}"' in client.get("/environments/tic-tac-toe/agents/anna/").content.decode()


def test_a_feed_of_a_board_of_scores_has_the_scores_that_led_it(client: Client, cast: Cast) -> None:
    task = factories.task()
    versions = {name: factories.ready(factories.agent(cast.alice, task, name)) for name in ("first", "worse", "better")}
    for hour, (name, score) in enumerate((("first", 10.0), ("worse", 5.0), ("better", 20.0))):
        factories.evaluation(versions[name], scores=[score] * 4, ended_at=START + timedelta(hours=hour))
    address = f"/environments/{task.slug}"
    shown = titles(client, f"{address}/feed.atom")
    assert [line for line in shown if "leads" in line] == ["better leads CartPole: 20", "first leads CartPole: 10"]
    assert "worse is new in CartPole" in shown
    own = titles(client, f"{address}/agents/worse/feed.atom")
    assert [line for line in own if "scored" in line] == ["worse v1 scored 5"]
    assert f'href="{address}/feed.atom"' in client.get(f"{address}/").content.decode()
