"""New names for agents: old addresses lead on, names of others are refused, and a deleted person's name is gone."""

from __future__ import annotations

import pytest
from django.test import Client

from core.errors import Refused
from core.models import Environment, FormerName
from core.moderation.deletion import account_delete
from core.submissions.naming import agent_once_named, agent_rename, name_check
from core.tests import factories
from core.tests.factories import Cast

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
HOME = "/environments/tic-tac-toe/agents/"


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


@pytest.fixture
def cast() -> Cast:
    return factories.cast()


def test_an_old_address_leads_to_the_new_name(environment: Environment, cast: Cast, client: Client) -> None:
    agent = factories.agent(cast.alice, environment, "first-try")
    factories.ready(agent)
    client.force_login(cast.alice)
    assert client.post(f"{HOME}first-try/name/", {"name": "Deep-Thought"})["Location"] == f"{HOME}Deep-Thought/"
    assert Client().get(f"{HOME}FIRST-try/")["Location"] == f"{HOME}Deep-Thought/"
    assert Client().get(f"{HOME}nothing/").status_code == 404
    # Renamed back, the name in between leads on.
    agent.refresh_from_db()
    agent_rename(agent=agent, name="first-try")
    assert agent_once_named("tic-tac-toe", "deep-thought") == agent
    assert FormerName.objects.count() == 1


@pytest.mark.parametrize("name", ["taken", "TAKEN", "was-taken", "a b", "-a", "", "x" * 51])
def test_names_of_others_and_what_is_no_name_are_refused(environment: Environment, cast: Cast, name: str) -> None:
    other = factories.agent(cast.bob, environment, "was-taken")
    agent_rename(agent=other, name="taken")
    agent = factories.agent(cast.alice, environment, "mine")
    with pytest.raises(Refused):
        agent_rename(agent=agent, name=name)
    agent.refresh_from_db()
    assert agent.name == "mine"


def test_a_former_name_is_free_for_its_own_agent_alone(environment: Environment, cast: Cast) -> None:
    agent = factories.agent(cast.alice, environment, "old")
    agent_rename(agent=agent, name="new")
    with pytest.raises(Refused, match="already exists"):
        name_check(environment=environment, owner=cast.bob, name="OLD")
    agent_rename(agent=agent, name="NEW")
    assert list(agent.former_names.values_list("name", flat=True)) == ["old"]


def test_the_name_of_a_deleted_person_leaves_the_names_of_agents(environment: Environment, cast: Cast) -> None:
    one, other = (factories.agent(cast.alice, environment, name) for name in ("random-Alice", "deep-search"))
    agent_rename(agent=other, name="alices-best")
    agent_rename(agent=other, name="best")
    account_delete(user=cast.alice)
    one.refresh_from_db()
    other.refresh_from_db()
    assert (one.name, other.name) == (f"deleted-agent-{one.pk}", "best")
    assert not FormerName.objects.exists()
