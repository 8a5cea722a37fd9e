"""Roles in a course, and whose sources its teachers and tutors see."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import AnonymousUser

from core.courses.sight import belongs, course_of, courses_closed, courses_unlisted, listed, seen
from core.courses.tutoring import agents_tutored
from core.models import Course, Eligibility, Environment, EventKind, Member, Role, SeenBy, Tournament, User, Webhook
from core.notices.services import announce
from core.people.rights import OF_ROLES, may, roles_of
from core.submissions.selectors import agent_source_visible
from core.submissions.tries import versions_visible
from core.tests import factories
from core.tournaments.planning import tournament_copy
from core.tournaments.registration_selectors import field_list, owner_obstacle
from core.tournaments.results import results_visible, withheld_from

pytestmark = pytest.mark.django_db


def course(slug: str = "robots", **fields: object) -> Course:
    return Course.objects.create(slug=slug, name=slug.capitalize(), **fields)


def member(of: Course, name: str, role: Role = Role.STUDENT) -> User:
    person = factories.user(name)
    Member.objects.create(course=of, user=person, role=role)
    return person


@pytest.mark.parametrize("role", list(Role))
def test_a_role_counts_in_its_own_course_only(role: Role) -> None:
    here, there = course(), course("fish")
    person = member(here, "paula", role)
    rights = {"core.change_course", "core.add_tournament", "core.change_participant", "core.view_submission"}
    assert {right for right in rights if may(person, right, here.pk)} == rights & OF_ROLES[role]
    assert not any(may(person, right, there.pk) or may(person, right) for right in rights)
    person.is_active = False
    assert not any(may(person, right, here.pk) for right in rights)


def test_teachers_and_tutors_see_the_sources_of_members_and_referees_do_not(environment: Environment) -> None:
    here = course()
    people = {role: member(here, role.lower(), role) for role in Role}
    mine, other = factories.user("mina"), factories.user("otto")
    Member.objects.create(course=here, user=mine)
    agents = [factories.agent(owner, environment) for owner in (mine, other)]
    for one in agents:
        factories.submission(one)
    # Without a tournament of the course no role of it shows them.
    assert not agents_tutored(people[Role.TEACHER]).exists()
    cup = factories.planned(environment)
    Tournament.objects.filter(pk=cup.pk).update(course=here)
    for one in agents:
        cup.registrations.create(agent=one)
    for role, person in people.items():
        sees = role in (Role.TEACHER, Role.TUTOR)
        assert [agent_source_visible(one, person) for one in agents] == [sees, False]
        assert versions_visible(agents[0].submissions.all(), person).exists() is sees
    cup.registrations.all().delete()
    Environment.objects.filter(pk=environment.pk).update(course=here)
    fresh = User.objects.get(pk=people[Role.TUTOR].pk)
    assert list(agents_tutored(fresh)) == [agents[0]]


def test_who_sees_a_course_and_what_belongs_to_it(environment: Environment) -> None:
    closed, linked, open_one = (
        course(one.lower(), seen_by=one) for one in (SeenBy.MEMBERS, SeenBy.LINK, SeenBy.EVERYONE)
    )
    paula, stranger = member(closed, "paula"), factories.user("stranger")
    everything = Course.objects.all()
    assert set(seen(everything, stranger)) == {linked, open_one} == set(seen(everything, AnonymousUser()))
    assert set(listed(everything, stranger)) == {open_one}
    assert set(listed(everything, paula)) == {closed, open_one}
    staff = factories.user("sam", is_staff=True)
    assert closed in courses_closed(staff)
    assert not courses_unlisted(factories.user("olga", is_staff=True, is_superuser=True)).exists()
    Environment.objects.filter(pk=environment.pk).update(course=closed)
    assert not Environment.objects.exclude(belongs(Environment, courses_closed(stranger))).exists()


def test_results_of_a_closed_course_are_withheld_from_others(environment: Environment) -> None:
    here = course()
    cup = factories.planned(environment)
    Tournament.objects.filter(pk=cup.pk).update(course=here, results="HIDDEN")
    cup.refresh_from_db()
    referee, student = member(here, "rita", Role.REFEREE), member(here, "sid")
    assert results_visible(cup, referee)
    assert cup not in withheld_from(referee)
    assert not results_visible(cup, student)
    Tournament.objects.filter(pk=cup.pk).update(results="PUBLIC")
    cup.refresh_from_db()
    assert results_visible(cup, student)
    assert not results_visible(cup, factories.user("out"))
    assert cup in withheld_from(AnonymousUser())
    assert cup not in withheld_from(student)
    assert course_of(cup) == here.pk


def test_only_members_take_part(environment: Environment, people: factories.Cast) -> None:
    here = course()
    Member.objects.create(course=here, user=people.alice)
    for owner in (people.alice, people.charlie):
        factories.ready(factories.agent(owner, environment))
    cup = factories.planned(environment)
    Tournament.objects.filter(pk=cup.pk).update(
        course=here, registration_opens_at=None, registration_closes_at=None, eligibility=Eligibility.EVERYBODY
    )
    cup.refresh_from_db()
    assert {one.agent.owner for one in field_list(cup)} == {people.alice}
    assert owner_obstacle(cup, people.charlie) == "This tournament is for members of Robots."
    assert owner_obstacle(cup, people.alice) == ""


def test_a_copy_a_week_later_keeps_the_time_of_day_when_clocks_change(environment: Environment) -> None:
    here = course(time_zone="Europe/Berlin")
    cup = factories.planned(environment)
    begins = datetime(2027, 3, 26, 17, 0, tzinfo=UTC)
    Tournament.objects.filter(pk=cup.pk).update(
        course=here, name="Week 9", starts_at=begins, registration_opens_at=None, registration_closes_at=None,
        freezes_at=None,
    )  # fmt: skip
    cup.refresh_from_db()
    copy = tournament_copy(tournament=cup, by=factories.user("paula"), now=factories.NOON)
    copy.refresh_from_db()
    # 18:00 in Berlin, before and after the 28th of March.
    assert copy.starts_at == datetime(2027, 4, 2, 16, 0, tzinfo=UTC)
    assert (copy.name, copy.course, copy.settings) == ("Week 10", here, cup.settings)
    assert copy.seed != cup.seed or copy.edition != cup.edition


def test_roles_are_read_once_for_a_request(django_assert_num_queries: object) -> None:
    person = member(course(), "paula", Role.TEACHER)
    assert roles_of(AnonymousUser()) == {}
    with django_assert_num_queries(1):  # type: ignore[operator]
        assert [*roles_of(person).values()] == [Role.TEACHER] == [*roles_of(person).values()]


def test_webhooks_get_no_event_of_a_closed_course_unless_they_are_about_its_environment(
    environment: Environment,
) -> None:
    here = course()
    for name, about in (("all", None), ("own", environment)):
        Webhook.objects.create(
            name=name, environment=about, kinds=[EventKind.TOURNAMENT_ENDED], secret_url="https://a.example"
        )

    def told(of: Course | None = None) -> set[str]:
        found = announce(kind=EventKind.TOURNAMENT_ENDED, title="Over", text=".", environment=environment, course=of)
        return {one.webhook.name for one in found}

    assert told() == {"all", "own"}
    assert told(here) == set()
    environment.course = here
    environment.save(update_fields=["course"])
    assert told() == {"own"}
    here.seen_by = SeenBy.EVERYONE
    assert told(here) == {"all", "own"}
