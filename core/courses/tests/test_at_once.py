"""Students who join a team at the same moment, on a real database."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.courses.services import member_change, member_remove
from core.courses.teams import member_move, team_create, team_delete, team_join
from core.errors import Refused
from core.models import Course, FormerTeam, Member, Role, Team
from core.tests import factories
from core.tests.concurrency import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture
def course() -> Course:
    return Course.objects.create(slug="robots", name="Robots", team_size=2)


def student(course: Course, name: str) -> Member:
    return Member.objects.create(course=course, user=factories.user(name))


def joined(member: Member, team: Team) -> bool:
    try:
        team_join(member=member, team=team)
    except Refused:
        return False
    return True


@pytest.mark.parametrize("repetition", range(2))
def test_the_last_place_of_a_team_is_taken_once(course: Course, repetition: int) -> None:
    first, *others = (student(course, name) for name in ("ann", "bea", "cem", "dan"))
    team = team_create(course=course, name="blue", people=[first])

    done = at_once(*(lambda one=one: joined(one, team) for one in others))

    assert done.count(True) == 1
    assert team.people.count() == 2
    assert team.people.filter(leads=True).get() == first


@pytest.mark.parametrize("repetition", range(2))
def test_a_student_who_joins_two_teams_at_once_is_in_one(course: Course, repetition: int) -> None:
    ann, *_ = (student(course, name) for name in ("ann", "bea"))
    teams = [team_create(course=course, name=name) for name in ("blue", "red")]

    done = at_once(*(lambda one=one: joined(ann, one) for one in teams))

    assert sorted(done) == [False, True]
    assert Member.objects.filter(team__in=teams).count() == FormerTeam.objects.filter(user=ann.user).count() == 1


@pytest.mark.parametrize("repetition", range(2))
def test_a_student_makes_one_team_however_often_the_button_is_pressed(course: Course, repetition: int) -> None:
    ann, _, _ = (student(course, name) for name in ("ann", "bea", "cem"))

    def make(name: str) -> bool:
        try:
            team_create(course=course, name=name, people=[Member.objects.get(pk=ann.pk)])
        except Refused:
            return False
        return True

    assert sorted(at_once(lambda: make("blue"), lambda: make("red"))) == [False, True]
    team = Team.objects.get()
    assert team.people.get() == ann


@pytest.mark.parametrize("repetition", range(2))
def test_of_people_who_leave_at_once_one_leads_as_long_as_there_is_one(course: Course, repetition: int) -> None:
    course.team_size = 0
    course.save()
    people = [student(course, name) for name in ("ann", "bea", "cem")]
    team = team_create(course=course, name="blue", people=people)

    at_once(*(lambda one=one: member_move(member=one, team=None) for one in people[:2]))

    assert [(one.pk, one.leads) for one in team.people.all()] == [(people[2].pk, True)]


@pytest.mark.parametrize("repetition", range(3))
def test_a_student_does_not_join_a_team_that_goes_at_the_same_moment(course: Course, repetition: int) -> None:
    ann = student(course, "ann")
    team = team_create(course=course, name="blue")

    def deleted() -> bool:
        try:
            team_delete(team=Team.objects.get(pk=team.pk))
        except Refused:
            return False
        return True

    done = at_once(lambda: joined(ann, team), deleted)

    ann.refresh_from_db()
    assert (done, ann.team_id) in (([True, False], team.pk), ([False, True], None), ([True, True], None))


def test_a_team_that_is_gone_is_joined_by_no_student(course: Course) -> None:
    team = team_create(course=course, name="blue")
    team_delete(team=Team.objects.get(pk=team.pk))
    for move in (team_join, member_move):
        with pytest.raises(Refused, match="deleted in the meantime"):
            move(member=student(course, f"ann-{move.__name__}"), team=team)


def test_what_is_done_to_a_member_who_has_left_meanwhile_is_refused(course: Course) -> None:
    ann, team = student(course, "ann"), team_create(course=course, name="blue")
    member_remove(member=Member.objects.get(pk=ann.pk))
    acts: list[Callable[[], object]] = [
        lambda: member_move(member=ann, team=team),
        lambda: member_change(member=ann, role=Role.STUDENT),
        lambda: member_change(member=ann, role=Role.TUTOR),
        lambda: member_remove(member=ann),
    ]
    for act in acts:
        with pytest.raises(Refused, match="ann has left the course"):
            act()
