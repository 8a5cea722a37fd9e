"""Teams of a course: made, joined and left, and what their people do as the team."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.courses.services import member_remove, people_tell
from core.courses.teams import member_move, team_create, team_join, teams_from_names
from core.errors import Refused
from core.models import (
    Agent,
    ApiToken,
    AuditEntry,
    Course,
    Eligibility,
    JobState,
    Member,
    Notice,
    Role,
    SeenBy,
    Team,
    Tournament,
    User,
)
from core.moderation.deletion import account_delete
from core.people.tokens import token_create
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.registration_selectors import eligible_count, field_list, invited_to, owner_obstacle
from web.conftest import As

pytestmark = pytest.mark.django_db


@pytest.fixture
def course(cast: Cast) -> Course:
    """alice teaches; bob and charlie are students."""
    row = Course.objects.create(slug="robots", name="Robots", seen_by=SeenBy.MEMBERS, team_size=2)
    Member.objects.create(course=row, user=cast.alice, role=Role.TEACHER)
    for student in (cast.bob, cast.charlie):
        Member.objects.create(course=row, user=student)
    return row


@pytest.fixture
def team(course: Course) -> Team:
    """bob and charlie's team, which bob leads, with an agent of its own."""
    game = factories.environment()
    cup = factories.planned(game)
    Tournament.objects.filter(pk=cup.pk).update(course=course)
    found = team_create(course=course, name="blue", people=list(course.members.filter(role=Role.STUDENT)))
    factories.ready(factories.agent(found.account, game, "azure"))
    return found


def logged_in(name: str) -> Client:
    """Return a browser whose person has just typed the password."""
    client = Client()
    client.post("/login/", {"username": f"{name}@arena.example", "password": factories.PASSWORD})
    return client


def works(client: Client, team: Team | None) -> Client:
    client.post(reverse("web:work_as"), {"team": team.pk if team else ""})
    return client


def page(course: Course) -> str:
    return reverse("web:course_teams", args=[course.slug])


def agent_page(name: str = "azure") -> str:
    return reverse("web:agent", args=["tic-tac-toe", name])


def test_students_make_a_team_and_invite_others_up_to_its_size(course: Course, cast: Cast, visit: As) -> None:
    bob, charlie, dora = visit(cast.bob), visit(cast.charlie), factories.user("dora")
    Member.objects.create(course=course, user=dora)
    bob.post(reverse("web:team_add", args=[course.slug]), {"name": "blue"})
    made = Team.objects.get()
    assert [(one.user, one.leads) for one in made.people.all()] == [(cast.bob, True)]
    bob.post(reverse("web:team_change", args=[course.slug, made.pk]), {"do": "open"})
    found = re.search(r"/courses/team/[^<]+", bob.get(page(course)).text)
    assert found is not None
    link = found[0]
    asked = charlie.get(link).text
    assert "In it: bob" in asked
    assert "Join the team</button>" in asked
    charlie.post(link)
    # The page of a full team has no button that is refused.
    full = visit(dora).get(link).text
    assert "The team has 2 people, which is the most here." in full
    assert "Join the team</button>" not in full
    refused = visit(dora).post(link, follow=True).text
    assert "The team has 2 people, which is the most here." in refused
    assert {one.user.username for one in made.people.all()} == {"bob", "charlie"}
    assert visit(factories.user("emil")).get(link).status_code == 404
    bob.post(reverse("web:team_change", args=[course.slug, made.pk]), {"do": "close"})
    assert charlie.get(link).status_code == 404


def test_a_teacher_makes_the_teams_that_the_class_list_names(course: Course, cast: Cast, visit: As) -> None:
    User.objects.filter(pk__in=(cast.bob.pk, cast.charlie.pk)).update(team="Team 1")
    factories.user("Team-1")
    teacher = visit(cast.alice)
    assert "Put 2 students into teams" in teacher.get(page(course)).text
    teacher.post(reverse("web:team_add", args=[course.slug]), {"all": "1"})
    made = Team.objects.get()
    assert str(made) == "robots-Team-1"
    assert made.people.count() == 2
    assert "students into teams" not in teacher.get(page(course)).text
    User.objects.filter(pk=cast.bob.pk).update(team="Team 1")
    member_move(member=course.members.get(user=cast.bob), team=None)
    teacher.post(reverse("web:team_add", args=[course.slug]), {"all": "1"})
    assert made.people.count() == 2
    assert Team.objects.count() == 1


def test_the_roster_moves_people_between_teams(course: Course, team: Team, cast: Cast, visit: As) -> None:
    red, teacher = team_create(course=course, name="red"), visit(cast.alice)
    bob = course.members.get(user=cast.bob)
    teacher.post(reverse("web:course_move", args=[course.slug]), {"member": bob.pk, "team": red.pk})
    assert [str(one.user) for one in red.people.all()] == ["bob"]
    # charlie leads now, and the agent stays.
    assert [(str(one.user), one.leads) for one in team.people.all()] == [("charlie", True)]
    assert Agent.objects.get(name="azure").owner == team.account
    roster = teacher.get(reverse("web:course_people", args=[course.slug])).text
    assert roster.index("blue</a>") < roster.index("charlie</a>") < roster.index("red</a>") < roster.index("bob</a>")
    # What the team has uploaded counts for its people.
    lacking = teacher.get(reverse("web:course_people", args=[course.slug], query={"show": "nothing"})).text
    assert ">bob</a>" in lacking
    assert ">charlie</a>" not in lacking
    teacher.post(reverse("web:course_move", args=[course.slug]), {"member": bob.pk, "team": ""})
    assert AuditEntry.objects.filter(action="move_to_team").count() == 2
    teacher.post(reverse("web:team_change", args=[course.slug, red.pk]), {"do": "delete"})
    assert not User.objects.filter(username="red").exists()
    refused = teacher.post(reverse("web:team_change", args=[course.slug, team.pk]), {"do": "delete"}, follow=True).text
    assert "blue owns agents or runs, so it stays." in refused


def test_what_a_person_does_as_the_team_is_the_teams(course: Course, team: Team, cast: Cast, visit: As) -> None:
    bob = visit(cast.bob)
    assert "This agent belongs to your team" in bob.get(agent_page()).text
    assert 'id="upload"' not in bob.get(agent_page()).text
    works(bob, team)
    shown = bob.get(agent_page()).text
    assert 'id="upload"' in shown
    assert "You work as the team <strong>blue</strong>" in shown
    bob.post(reverse("web:agent_describe", args=["tic-tac-toe", "azure"]), {"description": "Ours."})
    assert Agent.objects.get(name="azure").description == "Ours."
    # The account and the course stay bob's.
    assert "bob@arena.example" in bob.get("/profile/").text
    assert bob.get(reverse("web:course", args=[course.slug])).status_code == 200
    works(bob, None)
    assert 'id="upload"' not in bob.get(agent_page()).text


def test_a_person_who_has_left_takes_nothing_and_can_do_nothing(
    course: Course, team: Team, cast: Cast, visit: As
) -> None:
    charlie = works(visit(cast.charlie), team)
    _, token = token_create(owner=cast.charlie, name="laptop", now=timezone.now(), team=team)
    header = {"authorization": f"Bearer {token}"}
    assert Client().get("/api/v1/me/", headers=header).json()["username"] == "blue"
    charlie.post(reverse("web:team_change", args=[course.slug, team.pk]), {"do": "leave"})
    assert Client().get("/api/v1/me/", headers=header).status_code == 401
    assert 'id="upload"' not in charlie.get(agent_page()).text
    assert charlie.post(reverse("web:work_as"), {"team": team.pk}).status_code == 403
    assert Agent.objects.get(name="azure").owner == team.account


def test_a_token_of_a_team_lacks_the_second_factor_that_its_person_lacks(
    team: Team, cast: Cast, settings: Settings
) -> None:
    _, token = token_create(owner=cast.bob, name="laptop", now=timezone.now(), team=team)
    User.objects.filter(pk=cast.bob.pk).update(is_staff=True)
    for is_required, status in ((False, 200), (True, 401)):
        settings.REQUIRE_STAFF_TOTP = is_required
        assert Client().get("/api/v1/me/", headers={"authorization": f"Bearer {token}"}).status_code == status


def test_no_one_else_works_as_a_team(team: Team, cast: Cast, visit: As) -> None:
    for person in (cast.alice, cast.olga, factories.user("emil")):
        assert visit(person).post(reverse("web:work_as"), {"team": team.pk}).status_code == 403
    assert visit(None).post(reverse("web:work_as"), {"team": team.pk})["Location"].startswith("/login/")
    # Its account has no password and gets no link to choose one, and no code.
    assert not team.account.has_usable_password()
    visit(None).post("/password-reset/", {"email": team.account.email})
    assert visit(cast.olga).post(reverse("web:organise_person_code", args=[team.account.pk])).status_code == 404


def test_a_team_and_its_people_are_one_entrant(course: Course, team: Team, cast: Cast, visit: As) -> None:
    game = factories.environment()
    own = factories.agent(cast.bob, game, "bobs")
    factories.ready(own)
    cup = Tournament.objects.get()
    game.active_per_owner = 1
    game.save(update_fields=["active_per_owner"])
    bob = works(visit(cast.bob), team)
    register = reverse("web:register", args=["tic-tac-toe", cup.edition])
    bob.post(register, {"agent": Agent.objects.get(name="azure").pk})
    assert [str(row.agent) for row in cup.registrations.all()] == ["azure"]
    answer = works(bob, None).post(register, {"agent": own.pk}, follow=True).text
    assert "A team, with all its people, may register up to 1 agent" in answer
    assert cup.registrations.count() == 1


def test_news_of_a_teams_agent_reach_each_of_its_people_once(course: Course, team: Team, cast: Cast) -> None:
    people_tell(course=course, people=User.objects.filter(memberships__course=course), title="Hello", text="Hi.")
    told = Notice.objects.filter(title="Hello").values_list("user__username", flat=True)
    assert sorted(told) == ["alice", "bob", "charlie"]


def test_entries_in_the_audit_log_name_the_person(course: Course, team: Team, cast: Cast, visit: As) -> None:
    bob = works(visit(cast.bob), team)
    bob.post(reverse("web:team_change", args=[course.slug, team.pk]), {"do": "open"})
    assert AuditEntry.objects.get(action="open_team").operator == "bob"


def test_the_audit_log_names_the_person_of_a_token_too(team: Team, cast: Cast) -> None:
    azure = Agent.objects.get(name="azure").submissions.get()
    berta = factories.ready(factories.agent(cast.alice, factories.environment(), "berta"))
    row = factories.challenged(azure, berta, state=JobState.QUEUED)
    _, token = token_create(owner=cast.bob, name="laptop", now=timezone.now(), team=team)
    cancel = reverse("api:challenge_cancel", args=[row.pk])
    answer = Client().post(cancel, headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.content
    assert AuditEntry.objects.get(action="cancel challenge").operator == "bob"


def test_the_page_of_tokens_offers_teams(team: Team, cast: Cast) -> None:
    bob, alice = logged_in("bob"), logged_in("alice")
    assert "Acts for" in bob.get("/profile/tokens/").text
    assert "Acts for" not in alice.get("/profile/tokens/").text
    sent = {"name": "ours", "days": "30", "scope": "api", "team": team.pk}
    assert "Copy it now" in bob.post("/profile/tokens/", sent).text
    assert ApiToken.objects.get().account == team.account
    assert "for the team blue" in bob.get("/profile/tokens/").text
    alice.post("/profile/tokens/", sent)
    assert ApiToken.objects.get(owner=cast.alice).team is None


def test_names_of_people_are_shown_to_their_course_alone(team: Team, cast: Cast, visit: As) -> None:
    own = reverse("web:user", args=["blue"])
    assert ">bob</a>" in visit(cast.alice).get(own).text
    shown = visit(factories.user("emil")).get(own).text
    assert "A team" in shown
    assert ">bob</a>" not in shown


def test_queries_do_not_grow_with_people_and_teams(course: Course, team: Team, cast: Cast, visit: As) -> None:
    teacher, counts = visit(cast.alice), []
    teacher.get(page(course))
    for number in range(2):
        with CaptureQueriesContext(connection) as done:
            teacher.get(page(course))
        counts.append(len(done))
        for name in range(4):
            new = team_create(course=course, name=f"t{number}{name}")
            Member.objects.create(course=course, user=factories.user(f"p{number}{name}"), team=new)
    assert counts[0] == counts[1]


def test_the_account_of_a_team_has_no_role_of_its_own(course: Course, team: Team, cast: Cast, visit: As) -> None:
    row, olga = course.members.get(user=team.account), visit(cast.olga)
    address = reverse("web:course_member", args=[course.slug, row.pk])
    for role in (Role.TEACHER, Role.TUTOR, "remove"):
        assert olga.post(address, {"role": role}).status_code == 404
    assert course.members.get(user=team.account).role == Role.STUDENT


def test_a_student_who_gets_another_role_leaves_the_team(course: Course, team: Team, cast: Cast, visit: As) -> None:
    bob = works(visit(cast.bob), team)
    row = course.members.get(user=cast.bob)
    visit(cast.alice).post(reverse("web:course_member", args=[course.slug, row.pk]), {"role": Role.TUTOR})
    assert [(str(one.user), one.leads) for one in team.people.all()] == [("charlie", True)]
    assert bob.post(reverse("web:work_as"), {"team": team.pk}).status_code == 403


def test_a_person_who_deletes_the_account_leaves_the_team(course: Course, team: Team, cast: Cast) -> None:
    account_delete(user=cast.bob)
    assert [(str(one.user), one.leads) for one in team.people.all()] == [("charlie", True)]
    with pytest.raises(Refused, match="A team stays as long as its results"):
        account_delete(user=team.account)


def test_organisers_are_offered_for_a_team_only_what_it_can_have(team: Team, cast: Cast, visit: As) -> None:
    shown = visit(cast.olga).get(reverse("web:organise_person", args=[team.account.pk])).text
    assert "Ban" in shown
    assert "Mail a link for a new password" not in shown
    assert "Delete the account" not in shown


def test_all_people_of_a_team_are_one_entrant_also_without_the_team(
    course: Course, team: Team, cast: Cast, visit: As
) -> None:
    game, cup = factories.environment(), Tournament.objects.get()
    game.active_per_owner = 1
    game.save(update_fields=["active_per_owner"])
    register = reverse("web:register", args=["tic-tac-toe", cup.edition])
    for person in (cast.bob, cast.charlie):
        own = factories.agent(person, game, f"of-{person}")
        factories.ready(own)
        visit(person).post(register, {"agent": own.pk})
    assert [str(row.agent) for row in cup.registrations.all()] == ["of-bob"]


def test_people_join_a_team_only_with_what_one_owner_may_register(
    course: Course, team: Team, cast: Cast, visit: As
) -> None:
    game, cup = factories.environment(), Tournament.objects.get()
    game.active_per_owner = 1
    game.save(update_fields=["active_per_owner"])
    own = factories.agent(cast.charlie, game, "own")
    factories.ready(own)
    row = course.members.get(user=cast.charlie)
    member_move(member=row, team=None)
    cup.registrations.create(agent=own)
    cup.registrations.create(agent=Agent.objects.get(name="azure"))
    with pytest.raises(Refused, match="charlie and blue have registered more than 1 for"):
        team_join(member=row, team=team)
    move = reverse("web:course_move", args=[course.slug])
    refused = visit(cast.alice).post(move, {"member": row.pk, "team": team.pk}, follow=True).text
    assert "charlie and blue have registered more than 1" in refused
    cup.registrations.filter(agent=own).delete()
    team_join(member=row, team=team)
    assert team.people.count() == 2


def test_joining_reads_what_has_changed_meanwhile(course: Course, team: Team, cast: Cast) -> None:
    row = course.members.get(user=cast.charlie)
    member_move(member=row, team=None)
    stale = course.members.get(user=cast.charlie)
    red = team_create(course=course, name="red", people=[row])
    with pytest.raises(Refused, match="You are in another team, red"):
        team_join(member=stale, team=team)
    member_remove(member=course.members.get(user=cast.charlie))
    with pytest.raises(Refused, match="Teams are for students"):
        team_join(member=stale, team=team)
    assert not red.people.exists()


def test_a_team_of_the_class_list_may_enter_what_is_for_it(course: Course, cast: Cast) -> None:
    User.objects.filter(pk=cast.bob.pk).update(team="Team 1")
    teams_from_names(course=course)
    cup = factories.planned(factories.environment(), eligibility=Eligibility.TEAMS, teams=["Team 1"])
    made = Team.objects.get(account__username="Team-1")
    assert owner_obstacle(cup, made.account) == ""


@pytest.mark.parametrize("registers", [True, False])
def test_what_is_for_a_person_is_for_the_team_and_the_other_way_round(
    course: Course, team: Team, cast: Cast, visit: As, registers: bool
) -> None:
    game, dora = factories.environment(), factories.user("dora")
    Member.objects.create(course=course, user=dora)
    made = {
        one: factories.ready(factories.agent(one, game, f"of-{one.username}")) for one in (cast.bob, cast.charlie, dora)
    }
    azure = Agent.objects.get(name="azure")
    cup = factories.planned(game)
    cup.eligibility = Eligibility.INVITED
    if not registers:
        cup.registration_opens_at = cup.registration_closes_at = None
    cup.save()
    every = [azure, *(one.agent for one in made.values())]
    if registers:
        for agent in every:
            cup.registrations.create(agent=agent)

    def entered() -> set[str]:
        """Return the agents that take part, which are those whose owners are not refused and see the invitation."""
        found = {one.agent.name for one in field_list(cup)}
        assert found == {agent.name for agent in every if not owner_obstacle(cup, agent.owner)}
        assert found == {agent.name for agent in every if cup.pk in invited_to(agent.owner)}
        return found

    assert entered() == set()
    cup.invited.set([cast.bob])
    # Teams of other courses are as other people: their teachers choose who is in them.
    assert entered() == {"of-bob"}
    cup.course = course
    cup.save()
    assert entered() == {"azure", "of-bob"}
    cup.invited.set([team.account])
    assert entered() == {"azure", "of-bob", "of-charlie"}
    assert eligible_count(cup, [dora]) == 1
    # As well as by the name of a team, whose label may be empty.
    cup.eligibility, cup.teams = Eligibility.TEAMS, ["blue"]
    cup.save()
    User.objects.filter(pk=dora.pk).update(username="dora-blue")
    assert {one.agent.name for one in field_list(cup)} == {"azure", "of-bob", "of-charlie"}
    assert "yours is" not in owner_obstacle(cup, dora) != ""


def test_a_team_that_is_banned_and_let_in_again_tells_its_people(team: Team, cast: Cast, visit: As) -> None:
    ban = reverse("web:organise_action", args=["user", team.account_id, "ban"])
    assert visit(cast.olga).post(ban, {"reason": "Copied code."}).status_code == 302
    told = Notice.objects.filter(title="Your team blue was closed")
    assert {one.user.username for one in told} == {"bob", "charlie"}
    assert {one.text for one in told} == {"Reason: Copied code. An organiser did this; ask them if you wonder why."}
    assert all(one.mail_next_at is not None for one in told)
    team.account.refresh_from_db()
    assert (team.account.is_active, team.account.ban_reason) == (False, "Copied code.")
    visit(cast.olga).post(reverse("web:organise_action", args=["user", team.account_id, "unban"]))
    again = Notice.objects.filter(title="The organisers opened your team blue again")
    assert {one.user.username for one in again} == {"bob", "charlie"}
    assert Notice.objects.count() == 4


def test_a_team_is_no_teacher_of_any_course(course: Course, team: Team, cast: Cast, visit: As) -> None:
    other = Course.objects.create(slug="fish", name="Fish")
    for one in (other, course):
        form = {"name": one.name, "slug": one.slug, "kind": one.kind, "seen_by": one.seen_by, "time_zone": "UTC"}
        answer = visit(cast.olga).post(reverse("web:course_change", args=[one.slug]), form | {"teachers": "bob\nblue"})
        assert (answer.status_code, "blue is a team. Name people." in answer.text) == (422, True)
    assert not Member.objects.filter(role=Role.TEACHER).exclude(user=cast.alice).exists()


def test_the_page_on_which_people_upload_shows_for_whom(team: Team, cast: Cast, visit: As) -> None:
    write, bob = reverse("web:environment_write", args=["tic-tac-toe"]), visit(cast.bob)
    assert "For the team <strong>blue</strong>?" in " ".join(bob.get(write).text.split())
    assert "It will belong to the team <strong>blue</strong>." in works(bob, team).get(write).text
    assert "<strong>blue</strong>" not in visit(cast.olga).get(write).text + Client().get(write).text


def test_teams_are_not_people_of_a_filter_of_the_roster(course: Course, cast: Cast, visit: As) -> None:
    team_create(course=course, name="red")
    roster = reverse("web:course_people", args=[course.slug])
    shown = visit(cast.alice).get(roster, {"show": "nothing"}).text
    assert "Remind 2" in shown


def test_students_make_no_more_teams_than_there_are_students(course: Course, cast: Cast, visit: As) -> None:
    bob, add = visit(cast.bob), reverse("web:team_add", args=[course.slug])
    bob.post(add, {"name": "typo"})
    typo = Team.objects.get()
    left = bob.post(reverse("web:team_change", args=[course.slug, typo.pk]), {"do": "leave"}, follow=True).text
    assert "You have left typo, which had no agents and is gone." in left
    game = factories.environment()
    for name in ("one", "two"):
        bob.post(add, {"name": name})
        made = Team.objects.get(account__username=name)
        factories.agent(made.account, game, f"of-{name}")
        bob.post(reverse("web:team_change", args=[course.slug, made.pk]), {"do": "leave"})
    assert "There are as many teams as students here." in bob.post(add, {"name": "three"}, follow=True).text
    assert Team.objects.count() == 2


def test_the_page_of_a_tournament_leads_people_to_their_team(course: Course, team: Team, cast: Cast, visit: As) -> None:
    cup, bob = Tournament.objects.get(), visit(cast.bob)
    address = reverse("web:edition", args=["tic-tac-toe", cup.edition])
    assert "Your team <strong>blue</strong> may register its own agents." in bob.get(address).text
    shown = works(bob, team).get(address).text
    assert "may register its own agents" not in shown
    assert "azure" in shown


def test_deleted_agents_of_a_team_are_not_counted(course: Course, team: Team, cast: Cast, visit: As) -> None:
    bob = visit(cast.bob)
    assert "bob, charlie; 1 agent<" in bob.get(page(course)).text
    Agent.objects.update(deleted_at=timezone.now())
    assert "bob, charlie; 0 agents<" in bob.get(page(course)).text


def test_a_team_has_a_name_without_spaces(course: Course, cast: Cast, visit: As) -> None:
    add = reverse("web:team_add", args=[course.slug])
    assert "and no spaces." in visit(cast.bob).post(add, {"name": "Blue Foxes"}, follow=True).text
    assert not Team.objects.exists()


def test_after_a_refused_form_people_go_on_at_home(course: Course, team: Team, cast: Cast, visit: As) -> None:
    bob = works(visit(cast.bob), team)
    refused = bob.post(reverse("web:agent_create", args=["tic-tac-toe"]), {}).text
    assert 'name="next" value=""' in refused
