"""The page of an agent is kept for each person who is logged in for as long as nothing on it changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
import time_machine
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.models import Agent, Course, Environment, JobState, Member, Role, TournamentState, User
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_answers", "midday")]


@pytest.fixture
def agent(cast: Cast, environment: Environment) -> Agent:
    cast.alice.quota_uploads_per_day = 50
    cast.alice.save()
    return factories.ready(factories.agent(cast.alice, environment, "mine")).agent


def _page(agent: Agent) -> str:
    return f"/environments/{agent.environment.slug}/agents/{agent.name}/"


def _read(client: Client, agent: Agent) -> tuple[str, int]:
    """Return the page and the number of its queries."""
    with CaptureQueriesContext(connection) as asked:
        text = client.get(_page(agent)).content.decode()
    return text, len(asked)


def test_it_is_made_once_while_nothing_changes_and_its_forms_work(cast: Cast, agent: Agent) -> None:
    alice = Client(enforce_csrf_checks=True)
    alice.force_login(cast.alice)
    first, made = _read(alice, agent)
    second, kept = _read(alice, agent)
    assert second == first
    # The version of its environment may be read again, because a second has passed.
    assert kept < made * 2 / 3
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', second)[-1]
    sent = alice.post(f"{_page(agent)}description/", {"description": "Plays well.", "csrfmiddlewaretoken": token})
    assert sent.status_code == 302
    third, _ = _read(alice, agent)
    assert "The description is saved." in third
    assert "Plays well." in third
    fourth, _ = _read(alice, agent)
    assert "Plays well." in fourth
    assert "The description is saved." not in fourth


def _quota(cast: Cast, agent: Agent) -> None:
    cast.alice.quota_uploads_per_day = 77
    cast.alice.save()


CHANGES: dict[str, tuple[Callable[[Cast, Agent], object], str]] = {
    "a version": (lambda cast, agent: factories.submission(agent), "Version 2 "),
    "an upload of another agent": (
        lambda cast, agent: factories.submission(factories.agent(cast.alice, agent.environment, "second")),
        "48 of 50 left",
    ),
    "a notice": (lambda cast, agent: factories.notice(cast.alice), '<span class="sr"> unread</span>'),
    "a quota": (_quota, "76 of 77 left"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_it_is_made_again_after(name: str, cast: Cast, agent: Agent, visit: As) -> None:
    change, sign = CHANGES[name]
    alice = visit(cast.alice)
    before, _ = _read(alice, agent)
    assert sign not in before
    change(cast, agent)
    assert sign in _read(alice, agent)[0]


def test_each_reader_has_a_page_of_their_own(cast: Cast, agent: Agent, visit: As) -> None:
    own, _ = _read(visit(cast.alice), agent)
    assert 'id="upload-form"' in own
    for other in (visit(cast.bob), Client()):
        assert 'id="upload-form"' not in _read(other, agent)[0]
    # Another login of hers has another token for its forms.
    again, _ = _read(visit(cast.alice), agent)
    assert again != own


def test_a_page_of_another_follows_what_its_reader_can_do(cast: Cast, agent: Agent, visit: As) -> None:
    factories.rating(agent.submissions.get())
    bob = visit(cast.bob)
    first, made = _read(bob, agent)
    second, kept = _read(bob, agent)
    assert second == first
    assert kept < made
    assert "Challenge mine" not in second
    factories.ready(factories.agent(cast.bob, agent.environment, "bobs"))
    assert "Challenge mine" in _read(bob, agent)[0]


def test_a_page_of_another_is_kept_from_second_to_second_while_an_edition_runs(
    cast: Cast, agent: Agent, visit: As
) -> None:
    players = [agent.submissions.get(), *(factories.ready(factories.agent(cast.bob, agent.environment)) for _ in "ab")]
    factories.tournament(players, state=TournamentState.RUNNING)
    charlie = visit(cast.charlie)
    first, made = _read(charlie, agent)
    with time_machine.travel(timezone.now() + timedelta(seconds=2)):
        second, kept = _read(charlie, agent)
        assert second == first
        assert kept < made
        User.objects.filter(pk=agent.owner_id).update(team="Owls")
        assert "Owls" in _read(charlie, agent)[0]


def _fit(agent: Agent) -> None:
    """As a fit does: the rating changes, and with it the version of the pool."""
    factories.rating(agent.submissions.get(), 1777, rank=1)
    factories.rating_pool(agent.environment)


SEEN_BY_OTHERS: dict[str, tuple[Callable[[Agent], object], str]] = {
    "a version": (lambda agent: factories.ready(agent), "Version 2 "),
    "a rating": (lambda agent: _fit(agent), "1777"),
    "a description": (lambda agent: Agent.objects.filter(pk=agent.pk).update(description="Calm."), "Calm."),
    "a crash": (
        lambda agent: Agent.objects.filter(pk=agent.pk).update(is_disabled=True, disabled_reason="It floods."),
        "It floods.",
    ),
    "a closed account": (lambda agent: User.objects.filter(pk=agent.owner_id).update(is_active=False), "is closed"),
}


@pytest.mark.parametrize("name", SEEN_BY_OTHERS)
def test_a_page_of_another_follows_what_everyone_sees(name: str, cast: Cast, agent: Agent, visit: As) -> None:
    change, sign = SEEN_BY_OTHERS[name]
    bob = visit(cast.bob)
    assert sign not in _read(bob, agent)[0]
    change(agent)
    # The version of the environment is a second old.
    caches["answers"].delete(f"shown:{agent.environment.slug}")
    assert sign in _read(bob, agent)[0]


def test_a_teacher_sees_at_once_what_only_teachers_see(cast: Cast, agent: Agent, visit: As) -> None:
    course = Course.objects.create(slug="robots", name="Robots")
    for person, role in ((cast.alice, Role.STUDENT), (cast.bob, Role.TEACHER)):
        Member.objects.create(course=course, user=person, role=role)
    Environment.objects.filter(pk=agent.environment_id).update(course=course)
    bob = visit(cast.bob)
    assert "Version 2 " not in _read(bob, agent)[0]
    failed = factories.submission(agent)
    factories.build(failed, JobState.FAILED)
    assert "Version 2 " in _read(bob, agent)[0]
