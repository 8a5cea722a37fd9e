"""Ways into a closed course beside its addresses: ids in bodies, lists of people, seasons, and people who have left."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.courses.services import member_remove
from core.courses.tutoring import agents_tutored
from core.models import Course, Environment, Member, Notice, Participant, Role, SeenBy, Submission, Tournament, User
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.notices import tournament_called_off
from core.tournaments.registration_selectors import field_list
from tests.samples import FIRST, zip_of
from web.conftest import As

pytestmark = pytest.mark.django_db
MARK = "zebrafish"


@dataclass(frozen=True)
class Doors:
    """dora is no member and has an agent in a game for everyone. theirs: bob's in a game of the course."""

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


def test_a_teacher_sees_no_sources_of_people_who_have_not_joined(doors: Doors, cast: Cast, visit: As) -> None:
    teacher, game = visit(cast.alice), doors.own.agent.environment
    teacher.post(reverse("web:course_class", args=["robots"]), {"text": doors.dora.email, "create": "1"})
    sent = {"environment": game.pk, "name": "Trap", "format": "swiss", "results": "PUBLIC", "eligibility": "EVERYBODY",
            "registration_opens_at": "", "starts_at": "", "zone": "UTC", "save": "1"}  # fmt: skip
    answer = teacher.post(f"{reverse('web:organise_plan')}?course=robots", sent)
    assert answer.status_code == 302, answer.text
    assert doors.own not in field_list(Tournament.objects.get(name="Trap"))
    Participant.objects.create(tournament=Tournament.objects.get(name="Trap"), submission=doors.own)
    assert not agents_tutored(cast.alice).filter(pk=doors.own.agent_id).exists()


def test_a_tournament_of_a_course_does_not_enter_a_season_of_an_environment_for_everyone(
    doors: Doors, cast: Cast, visit: As
) -> None:
    game = doors.own.agent.environment
    season = factories.season(game)
    cup = factories.planned(game, name="Cup")
    change = reverse("web:organise_replan", args=[cup.pk])
    sent = {"name": "Cup", "about": "", "results": "PUBLIC", "season": season.pk}
    for state in ("RUNNING", "FINISHED"):
        times = {"started_at": timezone.now(), "ended_at": timezone.now() if state == "FINISHED" else None}
        Tournament.objects.filter(pk=cup.pk).update(course=doors.course, state=state, season=None, **times)
        assert visit(cast.alice).post(change, sent).status_code == 422
        assert visit(cast.olga).post(change, sent).status_code == 302
        # What an organiser chose stays.
        assert visit(cast.alice).post(change, sent | {"name": "Week 1"}).status_code == 302


def test_people_who_leave_a_course_free_their_places(doors: Doors, cast: Cast) -> None:
    game = doors.own.agent.environment
    member = Member.objects.create(course=doors.course, user=doors.dora)
    here, there = (factories.planned(game, name=name) for name in ("Here", "There"))
    Tournament.objects.filter(pk=here.pk).update(course=doors.course)
    for cup in (here, there):
        cup.registrations.create(agent=doors.own.agent)
    member_remove(member=member)
    assert not here.registrations.exists()
    assert there.registrations.exists()
    here.refresh_from_db()
    tournament_called_off(here, "No room.")
    assert not Notice.objects.filter(user=doors.dora).exists()
