"""Ways into a closed course beside its addresses: ids in bodies, lists of people, seasons, and people who have left."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from core.models import (
    Course,
    Environment,
    Member,
    Role,
    SeenBy,
    Submission,
    User,
)
from core.tests import factories
from core.tests.factories import Cast
from tests.samples import FIRST, zip_of
from web.conftest import As

pytestmark = pytest.mark.django_db
MARK = "zebrafish"


@dataclass(frozen=True)
class Doors:
    """dora is no member and has an agent in a game for everyone; anna's, in a game of the course, is hidden from her."""

    course: Course
    dora: User
    own: Submission
    theirs: Submission


@pytest.fixture
def doors(cast: Cast) -> Doors:
    course = Course.objects.create(slug="robots", name="Robots", seen_by=SeenBy.MEMBERS)
    Member.objects.create(course=course, user=cast.alice, role=Role.TEACHER)
    Member.objects.create(course=course, user=cast.bob)
    game = factories.environment()
    Environment.objects.filter(pk=game.pk).update(course=course, name=f"{MARK} game")
    dora = factories.user("dora")
    own = factories.ready(factories.agent(dora, factories.environment("connect-four"), "own"))
    theirs = factories.ready(factories.agent(cast.bob, game, f"anna-{MARK}", is_public=True))
    return Doors(course, dora, own, theirs)


def posted(client: Client, address: str, **sent: object) -> tuple[int, str]:
    answer = client.post(address, json.dumps(sent), content_type="application/json")
    return answer.status_code, answer.text


def uploaded(client: Client, address: str, **sent: object) -> tuple[int, str]:
    answer = client.post(address, sent | {"archive": SimpleUploadedFile("agent.zip", zip_of(FIRST))})
    return answer.status_code, answer.text


def test_an_id_in_a_body_that_is_hidden_is_answered_as_one_that_is_missing(doors: Doors, cast: Cast, visit: As) -> None:
    client, theirs = visit(doors.dora), doors.theirs
    cup = factories.planned(doors.own.agent.environment)
    rival = factories.ready(factories.agent(cast.alice, theirs.agent.environment, "rival"))
    duel = factories.challenged(theirs, rival).duels.get()
    registrations = f"/api/v1/tournaments/{cup.pk}/registrations/"

    def asked(agent: int, version: int, slug: str, duel: int) -> list[tuple[int, str]]:
        found = [
            posted(client, "/api/v1/challenges/", agent=doors.own.agent_id, opponent=agent),
            posted(client, "/api/v1/challenges/", agent=agent, opponent=doors.own.agent_id),
            posted(client, registrations, agent=agent),
            uploaded(client, "/api/v1/agents/", environment=slug, name="new", is_public=True),
            uploaded(client, "/api/v1/validate/", environment=slug),
            posted(client, "/api/v1/sittings/", agent=agent),
            posted(client, "/api/v1/sittings/", agent=doors.own.agent_id, duel=duel, match=0, ply=0),
            posted(client, "/api/submit/", env_id=slug, content="x"),
        ]
        for name in (f"agent:{agent}", f"submission:{version}"):
            players = [{"name": "a", "version": f"submission:{doors.own.pk}"}, {"name": "b", "version": name}]
            found.append(posted(client, "/api/v1/runs/", environment="connect-four", players=players))
        return [(status, text.replace(slug, "")) for status, text in found]

    hidden = asked(theirs.agent_id, theirs.pk, theirs.agent.environment.slug, duel.pk)
    missing = asked(10**9, 10**9, "nothing", 10**9)
    assert hidden == missing
    assert all(status >= 400 for status, _ in hidden)
