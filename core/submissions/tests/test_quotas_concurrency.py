"""Uploads at the same moment, on a real database: the last place is taken once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_django.fixtures import Settings

from core.errors import Refused
from core.models import Agent, Environment, Submission, User
from core.moderation.services import agent_disable, user_ban
from core.submissions.services import agent_create, submission_create
from core.tests import factories
from core.tests.concurrency import at_once
from tests.samples import FIRST, archive

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("archives_are_believed", "midday"),
    pytest.mark.both_databases,
]


def new_agent(owner: User, environment: Environment, number: int) -> Callable[[], str]:
    def run() -> str:
        try:
            agent_create(
                owner=owner,
                environment=environment,
                name=f"agent-{number}",
                is_public=False,
                archive=archive(f"# {number}\n{FIRST}"),
            )
        except Refused as refusal:
            return refusal.code
        return "uploaded"

    return run


def new_version(agent: Agent, number: int) -> Callable[[], str]:
    def run() -> str:
        try:
            submission_create(agent=agent, archive=archive(f"# {number}\n{FIRST}"))
        except Refused as refusal:
            return refusal.code
        return "uploaded"

    return run


@pytest.mark.parametrize("name", ["uploads_per_day", "active_agents", "concurrent_jobs"])
def test_of_uploads_at_once_only_as_many_get_in_as_there_are_places(
    settings: Settings, alice: User, environment: Environment, name: str
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, name: 2}

    said = at_once(*(new_agent(alice, environment, number) for number in range(5)))

    assert sorted(said) == [f"quota_{name}"] * 3 + ["uploaded"] * 2
    assert Submission.objects.count() == 2


def test_storage_is_not_taken_twice(settings: Settings, alice: User, environment: Environment) -> None:
    size = archive(f"# 0\n{FIRST}").size
    assert size is not None
    settings.QUOTAS = {**settings.QUOTAS, "storage_bytes": 3 * size - 1}

    said = at_once(*(new_agent(alice, environment, number) for number in range(4)))

    assert sorted(said) == ["quota_storage_bytes"] * 2 + ["uploaded"] * 2


def test_a_new_agent_and_a_new_version_take_one_last_place_between_them(
    settings: Settings, alice: User, environment: Environment
) -> None:
    agent = factories.agent(alice, environment)
    factories.submission(agent)
    settings.QUOTAS = {**settings.QUOTAS, "uploads_per_day": 2}

    said = at_once(new_agent(alice, environment, 1), new_version(agent, 2))

    assert sorted(said) == ["quota_uploads_per_day", "uploaded"]


@pytest.mark.parametrize("repetition", range(2))
def test_no_upload_slips_past_a_ban_or_a_disabled_agent(alice: User, environment: Environment, repetition: int) -> None:
    agent = factories.agent(alice, environment)

    def disable() -> str:
        agent_disable(agent=Agent.objects.get(pk=agent.pk), reason="Cheats.")
        return "done"

    def ban() -> str:
        user_ban(user=User.objects.get(pk=alice.pk), reason="Cheats.")
        return "done"

    at_once(new_version(agent, 1), disable)
    at_once(new_agent(alice, environment, 2), ban)

    # What came in before was stopped, what came after was refused.
    assert not Submission.objects.filter(builds__state__in=("QUEUED", "RUNNING")).exists()
