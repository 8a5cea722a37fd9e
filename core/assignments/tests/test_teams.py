"""Assignments of people who are in a team: what the team reaches is theirs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.assignments.deadlines import deadlines_tell
from core.assignments.marks import GoalState, assignment_marks, membership
from core.assignments.services import extend
from core.assignments.tests.rows import DUE, advance, assignment, course, end, member, reference, version
from core.courses.services import member_remove, members_add
from core.courses.sight import seen
from core.courses.teams import member_move, team_create
from core.models import Assignment, Duel, Environment, FormerTeam, Member, Notice, Role, Team, User
from core.tests import factories
from core.tests.factories import NOON

pytestmark = pytest.mark.django_db


@pytest.fixture
def task(environment: Environment) -> Assignment:
    here = course()
    teacher = member(here, "tess", Role.TEACHER).user
    return assignment(here, environment, *(reference(teacher, environment, name) for name in ("easy", "hard")))


@pytest.fixture
def team(task: Assignment) -> Team:
    """ann and bob; carl is in no team."""
    people = [member(task.course, name) for name in ("ann", "bob")]
    member(task.course, "carl")
    made = team_create(course=task.course, name="blue", people=people)
    FormerTeam.objects.update(left_at=NOON)
    return made


def row(task: Assignment, name: str) -> Member:
    return task.course.members.get(user__username=name)


def marks(task: Assignment) -> dict[str, int]:
    return {str(one.member.user): int(one.marks) for one in assignment_marks(task)}


def test_what_a_team_reaches_counts_for_each_of_its_people(task: Assignment, team: Team) -> None:
    version(team.account, task.environment, NOON)
    easy, hard = advance(task)
    assert easy.challenge is not None
    assert easy.challenge.user == team.account
    end(easy, reached=True)
    end(hard, reached=False)
    assert marks(task) == {"ann": 10, "bob": 10, "carl": 0}
    # bob's own version reaches the other one, and is not tried at what the team has reached.
    version(row(task, "bob").user, task.environment, NOON + timedelta(hours=1))
    (own,) = advance(task)
    end(own, reached=True)
    assert own.player_2.agent.name == "hard"
    assert marks(task) == {"ann": 10, "bob": 20, "carl": 0}
    member_move(member=row(task, "ann"), team=None, now=DUE - timedelta(hours=1))
    assert marks(task) == {"ann": 0, "bob": 20, "carl": 0}


def test_people_see_their_teams_results_and_others_do_not(task: Assignment, team: Team) -> None:
    version(team.account, task.environment, NOON)
    duels = advance(task)
    for name, count in (("ann", 2), ("bob", 2), ("carl", 0)):
        assert seen(Duel.objects.all(), row(task, name).user).count() == count
    (mark,) = assignment_marks(task, people=membership(task.course, row(task, "ann").user))
    assert [goal.state for goal in mark.goals] == [GoalState.PLAYING, GoalState.PLAYING]
    assert len(duels) == 2


def test_an_extension_of_a_person_is_the_teams_too(task: Assignment, team: Team) -> None:
    version(team.account, task.environment, DUE + timedelta(hours=1))
    assert advance(task, DUE + timedelta(hours=2)) == []
    extend(assignment=task, members=[row(task, "ann")], due_at=DUE + timedelta(days=1))
    for duel in advance(task, DUE + timedelta(hours=2)):
        end(duel, reached=True)
    assert marks(task) == {"ann": 20, "bob": 20, "carl": 0}
    extend(assignment=task, members=[row(task, "ann")], due_at=DUE)
    assert not task.extensions.exists()
    assert marks(task) == {"ann": 0, "bob": 0, "carl": 0}


def test_people_are_reminded_once_and_not_of_what_their_team_has_done(task: Assignment, team: Team) -> None:
    version(team.account, task.environment, NOON)
    for duel in advance(task):
        end(duel, reached=True)
    now = DUE - timedelta(hours=3)
    deadlines_tell(now=now)
    assert [one.user.username for one in Notice.objects.filter(title__contains="is due on")] == ["carl"]
    Assignment.objects.all().delete()
    cup = factories.planned(task.environment)
    cup.course = task.course
    cup.save(update_fields=["course"])
    agent = team.account.agents.get()
    cup.registrations.create(agent=agent)
    assert cup.registration_closes_at is not None
    deadlines_tell(now=cup.registration_closes_at - timedelta(hours=1))
    assert [one.user.username for one in Notice.objects.filter(title__contains="closes on")] == ["carl"]


def test_marks_stay_with_the_team_of_the_deadline(task: Assignment, team: Team) -> None:
    """ann moves a day after the deadline, bob a day before it."""
    red = team_create(course=task.course, name="red")
    version(team.account, task.environment, NOON)
    for duel in advance(task):
        end(duel, reached=duel.player_2.agent.name == "easy")
    version(red.account, task.environment, NOON)
    for duel in advance(task):
        end(duel, reached=True)
    assert marks(task) == {"ann": 10, "bob": 10, "carl": 0}
    member_move(member=row(task, "bob"), team=red, now=DUE - timedelta(days=1))
    member_move(member=row(task, "ann"), team=red, now=DUE + timedelta(days=1))
    member_move(member=row(task, "carl"), team=red, now=DUE + timedelta(days=1))
    assert marks(task) == {"ann": 10, "bob": 20, "carl": 0}
    member_move(member=row(task, "bob"), team=None, now=DUE + timedelta(days=2))
    member_remove(member=row(task, "ann"))
    assert marks(task) == {"bob": 20, "carl": 0}
    members_add(course=task.course, people=[User.objects.get(username="ann")])
    assert marks(task) == {"ann": 10, "bob": 20, "carl": 0}


def test_a_late_version_counts_for_those_who_are_in_the_team_by_then(task: Assignment, team: Team) -> None:
    Assignment.objects.update(late_days=2, late_percent=10)
    late = Assignment.objects.get()
    member_move(member=row(late, "carl"), team=team, now=DUE + timedelta(hours=1))
    member_move(member=row(late, "bob"), team=None, now=DUE + timedelta(hours=1))
    version(team.account, late.environment, DUE + timedelta(hours=2))
    for duel in advance(late, DUE + timedelta(hours=3)):
        end(duel, reached=True)
    assert marks(late) == {"ann": 18, "bob": 0, "carl": 18}


def test_an_extension_stays_with_those_who_were_in_the_team_at_the_deadline(task: Assignment, team: Team) -> None:
    extend(assignment=task, members=[row(task, "ann")], due_at=DUE + timedelta(days=1))
    version(team.account, task.environment, DUE + timedelta(hours=1))
    for duel in advance(task, DUE + timedelta(hours=2)):
        end(duel, reached=True)
    member_move(member=row(task, "bob"), team=None, now=DUE + timedelta(days=2))
    member_move(member=row(task, "carl"), team=team, now=DUE + timedelta(days=2))
    assert marks(task) == {"ann": 20, "bob": 20, "carl": 0}
