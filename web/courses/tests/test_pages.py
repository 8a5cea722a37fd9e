"""The pages of courses: who may do what, the roster with its reminders, the ways in, and news."""

from __future__ import annotations

import pytest
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.models import (
    Announcement,
    AuditEntry,
    Course,
    Duel,
    Environment,
    LedgerVoid,
    Member,
    Notice,
    NoticeKind,
    Participant,
    Role,
    SeenBy,
    Tournament,
    User,
)
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.tests.arena import Stage

pytestmark = pytest.mark.django_db
CSV = "email,username,team\nbob@arena.example,,Red\nnew@school.example,newton,Green\n"


@pytest.fixture
def course(cast: Cast) -> Course:
    """alice teaches, bob is a student."""
    row = Course.objects.create(slug="robots", name="Robots", seen_by=SeenBy.MEMBERS, about="**Learn** to play.")
    Member.objects.create(course=row, user=cast.alice, role=Role.TEACHER)
    Member.objects.create(course=row, user=cast.bob)
    return row


@pytest.fixture
def teacher(cast: Cast, visit: As) -> Client:
    return visit(cast.alice)


def people(course: Course, **query: str) -> str:
    return reverse("web:course_people", args=[course.slug], query=query)


def member(course: Course, name: str, role: Role) -> User:
    person = factories.user(name)
    Member.objects.create(course=course, user=person, role=role)
    return person


def plan_of(environment: Environment, **fields: object) -> dict[str, object]:
    return {"environment": environment.pk, "name": "Week 1", "format": "swiss", "is_rated": "on", "results": "PUBLIC",
            "eligibility": "EVERYBODY", "registration_opens_at": "2099-01-01T10:00", "starts_at": "2099-01-08T18:00",
            "zone": "Europe/Berlin", "save": "1", **fields}  # fmt: skip


def test_organisers_add_a_course_and_appoint_its_teachers(cast: Cast, visit: As) -> None:
    sent = {"name": "Go", "slug": "go", "kind": "CLUB", "seen_by": "MEMBERS", "time_zone": "Europe/Berlin",
            "about": "", "teachers": "charlie"}  # fmt: skip
    assert visit(cast.olga).post("/courses/add/", sent).status_code == 302
    made = Course.objects.get()
    assert [(one.user, one.role) for one in made.members.all()] == [(cast.charlie, Role.TEACHER)]
    assert AuditEntry.objects.filter(action="add", model="core.course").exists()
    charlie = visit(cast.charlie)
    assert "Club, 1 member" in charlie.get("/courses/").text
    assert "/courses/go/" not in visit(cast.bob).get("/courses/").text
    assert visit(cast.bob).get("/courses/go/").status_code == 404
    # Not staff: no page of the desk is open to them.
    assert charlie.get("/organise/").status_code == 403
    assert visit(cast.olga).post("/courses/add/", sent | {"slug": "join"}).status_code == 422


def test_a_teacher_plans_changes_and_runs_tournaments_of_the_course_with_the_forms_of_the_desk(
    course: Course, teacher: Client, environment: Environment, cast: Cast, visit: As
) -> None:
    address = f"{reverse('web:organise_plan')}?course={course.slug}"
    assert teacher.get(reverse("web:organise_plan")).status_code == 403
    assert visit(cast.bob).get(address).status_code == 403
    assert teacher.get(address).status_code == 200
    sent = plan_of(environment)
    answer = teacher.post(address, sent)
    assert answer.status_code == 302, answer.text
    made = Tournament.objects.get(name="Week 1")
    assert (made.course, made.created_by) == (course, cast.alice)
    page = teacher.get(reverse("web:edition", args=[environment.slug, made.edition])).text
    assert "Change the plan" in page
    assert "Call off" in page
    change = reverse("web:organise_replan", args=[made.pk])
    assert teacher.post(change, sent | {"name": "Week one", "course": ""}).status_code == 302
    made.refresh_from_db()
    assert (made.name, made.course) == ("Week one", course)
    other = factories.planned(environment)
    assert teacher.get(reverse("web:organise_replan", args=[other.pk])).status_code == 403
    call_off = reverse("web:organise_action", args=["tournament", made.pk, "call_off"])
    assert visit(member(course, "rita", Role.REFEREE)).post(call_off, {"reason": "No."}).status_code == 403
    assert teacher.post(call_off, {"reason": "No."}).status_code == 302
    made.refresh_from_db()
    assert made.state == "CANCELLED"
    wrong = reverse("web:organise_action", args=["tournament", other.pk, "call_off"])
    assert teacher.post(wrong, {"reason": "No."}).status_code == 403


@pytest.mark.parametrize(("role", "may"), [(Role.REFEREE, True), (Role.TUTOR, False), (Role.STUDENT, False)])
def test_referees_void_and_disqualify(course: Course, stage: Stage, visit: As, role: Role, may: bool) -> None:
    Tournament.objects.filter(pk=stage.tournament.pk).update(course=course, is_automatic=False, name="Cup")
    place = Participant.objects.get(tournament=stage.tournament, submission=stage.anna)
    client = visit(member(course, "rita", role))
    void = reverse("web:organise_action", args=["duel", stage.duel.pk, "void"])
    out = reverse("web:organise_action", args=["participant", place.pk, "disqualify"])
    duel = client.get(reverse("web:duel", args=[stage.duel.pk]))
    assert duel.status_code == 200
    assert ("Void" in duel.text) is may
    assert {client.post(one, {"reason": "Copied."}).status_code for one in (void, out)} == {302 if may else 403}
    place.refresh_from_db()
    assert bool(place.disqualified_because) is may
    assert LedgerVoid.objects.filter(duel=stage.duel).exists() is may
    source = reverse("web:submission_archive", args=[stage.anna.pk])
    Member.objects.get_or_create(course=course, user=stage.anna.agent.owner)
    answer = client.get(source)
    answer.close()
    assert answer.status_code == (200 if role == Role.TUTOR else 404)


def test_the_roster_shows_what_members_lack_and_reminds_them(
    course: Course, teacher: Client, stage: Stage, cast: Cast
) -> None:
    member(course, "late", Role.STUDENT)
    Tournament.objects.filter(pk=stage.tournament.pk).update(
        course=course, is_automatic=False, name="Week 1", state="FINISHED", ended_at=timezone.now()
    )
    coming = factories.planned(stage.environment)
    Tournament.objects.filter(pk=coming.pk).update(course=course, name="Week 2", registration_opens_at=timezone.now())
    coming.registrations.create(agent=stage.anna.agent)
    page = teacher.get(people(course)).text
    assert "berta v1" in page
    assert "of 3" in page
    assert "Nothing yet (1)" in page
    assert "Not registered (2)" in page
    found = teacher.get(people(course, show="unregistered")).text
    assert "“You have not registered an agent for" in found
    assert "anna v1" not in found
    answer = teacher.post(reverse("web:course_remind", args=[course.slug]), {"show": "nothing"}, follow=True)
    assert "1 person is reminded." in answer.text
    (notice,) = Notice.objects.filter(kind=NoticeKind.ANNOUNCEMENT)
    assert (notice.user.username, notice.text) == ("late", "You have not uploaded an agent yet.")
    assert notice.mail_next_at is not None


def test_a_longer_roster_costs_no_more_queries(course: Course, teacher: Client, stage: Stage) -> None:
    Tournament.objects.filter(pk=stage.tournament.pk).update(course=course, is_automatic=False, name="Week 1")
    counts = []
    teacher.get("/courses/")
    for name in ("c", "d"):
        for number in range(3):
            owner = member(course, f"{name}{number}", Role.STUDENT)
            factories.submission(factories.agent(owner, stage.environment))
            Announcement.objects.create(course=course, title="More", text="More.", written_by=owner)
        with CaptureQueriesContext(
            connection,
        ) as asked:
            for address in (people(course), f"/courses/{course.slug}/", "/courses/"):
                assert teacher.get(address).status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_people_come_by_a_list_which_sets_the_teams_of_members(
    course: Course, teacher: Client, cast: Cast, visit: As
) -> None:
    address = reverse("web:course_class", args=[course.slug])
    listed = CSV + "charlie@arena.example,,Red\n"
    preview = teacher.post(address, {"text": listed}).text
    assert "team was Blue" in preview
    # Whose account it is, a teacher does not learn.
    assert ">charlie<" not in preview
    answer = teacher.post(address, {"text": listed, "create": "1"}, follow=True).text
    assert "1 account created" in answer
    assert "1 person who has an account got the join link" in answer
    assert AuditEntry.objects.filter(action="add_members", object_name="Robots").exists()
    cast.bob.refresh_from_db()
    assert cast.bob.team == "Red"
    assert {one.user.username for one in course.members.all()} == {"alice", "bob", "newton"}
    before = cast.charlie.team
    cast.charlie.refresh_from_db()
    assert cast.charlie.team == before
    notice = Notice.objects.get(user=cast.charlie)
    visit(cast.charlie).post(notice.address)
    assert course.members.filter(user=cast.charlie, role=Role.STUDENT).exists()
    assert "is a member" in teacher.post(address, {"text": listed}).text


def test_people_come_by_the_join_link_while_it_is_open(course: Course, teacher: Client, cast: Cast, visit: As) -> None:
    link = reverse("web:course_link", args=[course.slug])
    teacher.post(link, {"open": "1"})
    course.refresh_from_db()
    page = teacher.get(people(course)).text
    address = page.partition("/courses/join/")[2].partition("<")[0]
    charlie = visit(cast.charlie)
    assert "Robots" in charlie.get(f"/courses/join/{address}").text
    assert charlie.get("/courses/robots/").status_code == 404
    assert charlie.post(f"/courses/join/{address}").status_code == 302
    assert charlie.get("/courses/robots/").status_code == 200
    teacher.post(link, {"close": "1"})
    assert visit(cast.olga).get(f"/courses/join/{address}").status_code == 404
    assert visit(cast.olga).get("/courses/join/nothing/").status_code == 404


def test_members_leave_and_teachers_do_not(course: Course, teacher: Client, cast: Cast, visit: As) -> None:
    bob, alice = (course.members.get(user=one) for one in (cast.bob, cast.alice))
    client = visit(cast.bob)
    address = reverse("web:course_member", args=[course.slug, bob.pk])
    assert address in client.get("/courses/robots/").text
    assert client.post(address, {"role": "TUTOR"}).status_code == 403
    assert "You have left Robots." in client.post(address, {"role": "remove"}, follow=True).text
    assert client.get("/courses/robots/").status_code == 404
    assert "Leave Robots" not in teacher.get("/courses/robots/").text
    own = reverse("web:course_member", args=[course.slug, alice.pk])
    assert teacher.post(own, {"role": "remove"}).status_code == 403


def test_a_planned_tournament_says_to_whom_of_the_course_it_is_open(
    course: Course, teacher: Client, environment: Environment
) -> None:
    cup = factories.planned(environment)
    Tournament.objects.filter(pk=cup.pk).update(course=course)
    page = " ".join(teacher.get(reverse("web:edition", args=[environment.slug, cup.edition])).text.split())
    assert "members of Robots</dd>" in page
    assert "everyone who can see Robots</dd>" in page


def test_only_organisers_appoint_teachers(course: Course, teacher: Client, cast: Cast, visit: As) -> None:
    bob = course.members.get(user=cast.bob)
    address = reverse("web:course_member", args=[course.slug, bob.pk])
    assert teacher.post(address, {"role": "TUTOR"}).status_code == 302
    bob.refresh_from_db()
    assert bob.role == Role.TUTOR
    assert teacher.post(address, {"role": "TEACHER"}).status_code == 403
    assert visit(cast.olga).post(address, {"role": "TEACHER"}).status_code == 302
    assert teacher.post(address, {"role": "remove"}).status_code == 403
    assert visit(cast.olga).post(address, {"role": "remove"}).status_code == 302
    assert not course.members.filter(user=cast.bob).exists()


def test_news_stand_on_the_page_and_in_the_inbox(course: Course, teacher: Client, stage: Stage, cast: Cast) -> None:
    member(course, "late", Role.STUDENT)
    Tournament.objects.filter(pk=stage.tournament.pk).update(course=course, is_automatic=False, name="Week 1")
    address = reverse("web:course_news", args=[course.slug])
    sent = {"title": "No lecture", "text": "On *Friday*.", "tournament": ""}
    assert teacher.post(address, sent).status_code == 302
    assert Notice.objects.filter(kind=NoticeKind.ANNOUNCEMENT, title="Robots: No lecture").count() == 3
    assert AuditEntry.objects.filter(action="add", model="core.announcement").exists()
    assert "<em>Friday</em>" in teacher.get("/courses/robots/").text
    teacher.post(address, {"title": "Well played", "text": "All.", "tournament": stage.tournament.pk})
    told = Notice.objects.filter(title="Robots: Well played").values_list("user__username", flat=True)
    # charlie plays, but is no member.
    assert set(told) == {"alice", "bob"}


def test_a_copy_is_planned_by_one_button(course: Course, teacher: Client, environment: Environment) -> None:
    cup = factories.planned(environment)
    Tournament.objects.filter(pk=cup.pk).update(course=course, name="Week 1")
    assert "Copy, a week later" in teacher.get("/courses/robots/").text
    answer = teacher.post(reverse("web:course_copy", args=[course.slug, cup.pk]))
    made = Tournament.objects.latest("pk")
    assert answer.headers["Location"] == reverse("web:organise_replan", args=[made.pk])
    assert made.course == course


def test_a_duel_of_the_course_is_judged_in_its_own_course_only(course: Course, stage: Stage, visit: As) -> None:
    elsewhere = Course.objects.create(slug="fish", name="Fish")
    Tournament.objects.filter(pk=stage.tournament.pk).update(course=elsewhere, is_automatic=False, name="Cup")
    client = visit(member(course, "rita", Role.REFEREE))
    void = reverse("web:organise_action", args=["duel", stage.duel.pk, "void"])
    assert client.post(void, {"reason": "Mine."}).status_code == 403
    assert not Duel.objects.filter(void__isnull=False).exists()


def test_members_find_what_belongs_to_their_course_where_they_look_for_it(
    course: Course, environment: Environment, cast: Cast, visit: As
) -> None:
    cup = factories.planned(environment, name="Zebra cup")
    Tournament.objects.filter(pk=cup.pk).update(course=course)
    Environment.objects.filter(pk=environment.pk).update(course=course, name="Zebra game")
    for address in ("/", "/tournaments/"):
        assert "Zebra" in visit(cast.bob).get(address).text
        assert "Zebra" not in visit(cast.charlie).get(address).text
        assert "Zebra" not in visit(None).get(address).text
    assert "Zebra cup" in visit(cast.olga).get("/organise/tournaments/").text


def test_pages_that_are_kept_for_strangers_go_when_a_course_is_closed(
    course: Course, teacher: Client, environment: Environment, visit: As, kept_answers: None
) -> None:
    Course.objects.update(seen_by=SeenBy.EVERYONE)
    Environment.objects.filter(pk=environment.pk).update(course=course)
    address = f"/environments/{environment.slug}/"
    first = visit(None).get(address)
    assert "ETag" in first.headers
    sent = {"name": "Robots", "slug": "robots", "kind": "COURSE", "seen_by": "MEMBERS", "time_zone": "UTC", "about": ""}
    assert teacher.post("/courses/robots/settings/", sent).status_code == 302
    # As after a second, for which the version is not read again.
    caches["answers"].delete(f"shown:{environment.slug}")
    assert visit(None).get(address).status_code == 404
