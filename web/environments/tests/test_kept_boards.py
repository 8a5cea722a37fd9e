"""Boards and editions are kept for each person who is logged in for as long as nothing that they show changes."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core.cache import answers
from core.models import Agent, Participant, RatingPool, Tournament
from core.submissions.naming import agent_rename
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.ladders import agent_rest
from web.conftest import As

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_answers")]
EDITION = "editions/1/"
ROWS = {"": "web/ratings/leaderboard_rows.html", EDITION: "web/environments/edition_rows.html"}


@pytest.fixture
def agent(cast: Cast) -> Agent:
    """An agent of alice, first of two on the board and in an edition that is over."""
    environment = factories.environment()
    players = [
        factories.ready(factories.agent(owner, environment, name))
        for owner, name in ((cast.alice, "mine"), (cast.bob, "rival"))
    ]
    factories.tournament(players)
    for rank, player in enumerate(players, start=1):
        factories.rating(player, 1600 - 100 * rank, rank=rank)
    return players[0].agent


def _read(client: Client, agent: Agent, page: str = "") -> tuple[str, int]:
    """Return the page, when the version of its environment is a second old, and the number of its queries."""
    caches["answers"].delete(f"shown:{agent.environment.slug}")
    with CaptureQueriesContext(connection) as asked:
        text = client.get(f"/environments/{agent.environment.slug}/{page}").content.decode()
    return text, len(asked)


@pytest.mark.parametrize("page", ["", EDITION, "?agent=riv", f"{EDITION}?agent=riv"])
def test_it_is_made_once_while_nothing_changes(cast: Cast, agent: Agent, visit: As, page: str) -> None:
    alice = visit(cast.alice)
    first, made = _read(alice, agent, page)
    second, kept = _read(alice, agent, page)
    assert second == first
    assert kept < made


def _fit(agent: Agent) -> None:
    """As a fit does: the rating changes, and with it the version of the pool."""
    factories.rating(agent.submissions.get(), 1777, rank=1)
    RatingPool.objects.filter(environment=agent.environment).update(ledger_version=99)


CHANGES: dict[str, tuple[Callable[[Cast, Agent], object], str, str]] = {
    "an upload of hers": (lambda cast, agent: factories.submission(agent), "v2</span>", ""),
    "a fit of ratings": (lambda cast, agent: _fit(agent), "1777", ""),
    "an agent of another": (
        lambda cast, agent: factories.ready(factories.agent(cast.bob, agent.environment, "newcomer")), "newcomer", "",
    ),
    "an agent that is hidden": (lambda cast, agent: agent_rest(agent=agent, is_resting=True), "Hidden", ""),
    "a new name": (lambda cast, agent: agent_rename(agent=agent, name="renamed"), "renamed", EDITION),
    "a notice": (lambda cast, agent: factories.notice(cast.alice), '<span class="sr"> unread</span>', EDITION),
    "a table that is computed again": (
        lambda cast, agent: Tournament.objects.update(table_version=7, results="HIDDEN"), "Only organisers", EDITION,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_it_is_made_again_after(name: str, cast: Cast, agent: Agent, visit: As) -> None:
    change, sign, page = CHANGES[name]
    alice = visit(cast.alice)
    before, _ = _read(alice, agent, page)
    assert sign not in before
    change(cast, agent)
    assert sign in _read(alice, agent, page)[0]


def test_each_reader_sees_their_own_agents(cast: Cast, agent: Agent, visit: As) -> None:
    assert 'id="own-agents"' in _read(visit(cast.alice), agent)[0]
    for other in (visit(cast.charlie), Client()):
        assert 'id="own-agents"' not in _read(other, agent)[0]


@pytest.mark.parametrize("page", ROWS)
def test_rows_are_rendered_once_for_all_and_marked_for_their_owners(
    cast: Cast, agent: Agent, visit: As, page: str
) -> None:
    address, own = f"/environments/{agent.environment.slug}/{page}", re.compile(r'<tr role="row"[^>]* own">')
    readers = [visit(cast.charlie), visit(cast.olga), Client(), visit(cast.alice), visit(cast.bob)]
    answers = [reader.get(address) for reader in readers]
    rendered = [ROWS[page] in [template.name for template in answer.templates] for answer in answers]
    assert rendered == [True, False, False, False, False]
    assert [len(own.findall(answer.content.decode())) for answer in answers] == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("page", ROWS)
def test_rows_follow_a_new_table_and_a_fit_at_once(
    cast: Cast, agent: Agent, visit: As, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"/environments/{agent.environment.slug}/{page}"
    assert "1777" not in visit(cast.charlie).get(address).content.decode()
    # As the end of an edition does.
    Participant.objects.filter(submission__agent=agent).update(rating=1777)
    Tournament.objects.update(table_version=99)
    _fit(agent)
    # Another process renders them at this moment, and the version of the environment is that of before.
    monkeypatch.setattr(answers, "_is_first", lambda key: False)
    assert "1777" in visit(cast.olga).get(address).content.decode()
