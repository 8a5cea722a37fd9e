"""The pages of assignments: forms, live results, extensions, marks as CSV and over the API, and who sees them."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Mapping
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from arena_kit.analysis.positions import solve_match
from arena_kit.environment.records import Fault, MatchRecord, Outcome
from arena_kit.ranking.sequential import SequentialState, SequentialTest, decide
from core.assignments.testing import assignment_advance
from core.assignments.tests.rows import member, version
from core.courses.teams import member_move, team_create
from core.duels.analyses import analysis_begin, analysis_succeed
from core.duels.challenges import challenge_follow
from core.duels.selectors import match_get, records_open, spec_get
from core.jobs.lifecycle import job_claim
from core.models import (
    Agent,
    Analysis,
    Assignment,
    AuditEntry,
    Challenge,
    Course,
    Duel,
    Environment,
    Evaluation,
    FormerTeam,
    JobState,
    Member,
    Notice,
    NoticeKind,
    Role,
    SeenBy,
    Submission,
    User,
)
from core.people.services import user_invite
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.tests import played

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def course(cast: Cast) -> Course:
    """alice teaches, bob is a student."""
    row = Course.objects.create(slug="robots", name="Robots", seen_by=SeenBy.MEMBERS, time_zone="Europe/Berlin")
    Member.objects.create(course=row, user=cast.alice, role=Role.TEACHER)
    Member.objects.create(course=row, user=cast.bob)
    return row


@pytest.fixture
def teacher(cast: Cast, visit: As) -> Client:
    return visit(cast.alice)


@pytest.fixture
def easy(cast: Cast, environment: Environment) -> Submission:
    return played.ready(factories.agent(cast.alice, environment, "easy"))


@pytest.fixture
def task(course: Course, easy: Submission) -> Assignment:
    now = timezone.now()
    row = Assignment.objects.create(
        course=course, environment=easy.agent.environment, name="Week 1", opens_at=now - 7 * DAY, due_at=now - DAY,
        late_days=2, late_percent=25,
    )  # fmt: skip
    row.baselines.create(agent=easy.agent, percent=50, marks=10)
    return row


def page(task: Assignment, name: str = "assignment", *more: object) -> str:
    return reverse(f"web:{name}", args=[task.course.slug, task.pk, *more])


def sent(easy: Submission, **fields: object) -> dict[str, object]:
    return {
        "name": "Week 1", "environment": easy.agent.environment_id, "weeks": 1, "about": "", "weight": 1,
        "opens_at": "2027-03-19T18:00", "due_at": "2027-03-26T18:00", "late_days": 2, "late_percent": 10,
        "agent_1": easy.agent_id, "percent_1": 60, "marks_1": 10,
        "percent_2": 50, "marks_2": 10, "percent_3": 50, "marks_3": 10, **fields,
    }  # fmt: skip


def marks_csv(teacher: Client) -> str:
    """Return the file of marks as a spreadsheet reads it: with the mark of its encoding before it."""
    content = teacher.get("/courses/robots/marks.csv").content
    assert content.startswith(codecs.BOM_UTF8)
    return content.decode("utf-8-sig")


def play(task: Assignment, *, forfeits: int = 0, gifts: Mapping[str, int] | None = None) -> list[Duel]:
    """Play what is due as a worker does, with random moves. forfeits: how many matches each version forfeits.

    gifts: by person, the baseline forfeits every match of this number.
    """
    assignment_advance(assignment_id=task.pk, now=timezone.now())
    found = []
    for duel in Duel.objects.filter(challenge__assignment=task, state="QUEUED").order_by("pk"):
        # A seed that is not drawn, so that the random moves are the same every time.
        seed = Duel.objects.filter(challenge__assignment=task, pk__lt=duel.pk).count()
        Duel.objects.filter(pk=duel.pk).update(match_count=60, seed=seed)
        duel.refresh_from_db()
        Submission.objects.filter(pk=duel.player_1_id).update(image="player-of-a-student")
        given = range(1, 61, every) if (every := (gifts or {}).get(duel.player_1.agent.owner.username)) else ()
        found.append(played.play(duel, faults_of_1=range(1, forfeits + 1), faults_of_2=given))
    for challenge in Challenge.objects.filter(assignment=task):
        challenge_follow(challenge.pk)
    return found


def test_a_term_is_one_form_with_at_most_25_fields(
    course: Course, teacher: Client, easy: Submission, visit: As, cast: Cast
) -> None:
    address = reverse("web:assignment_add", args=["robots"])
    form = teacher.get(address).context["form"]
    assert len([field for field in form if not field.is_hidden]) <= 25
    groups = [(str(name), [words for _, words in agents]) for name, agents in list(form.fields["agent_1"].choices)[1:]]
    name = easy.agent.environment.name
    assert groups == [(name, [f"easy, {name} (alice)"])]
    assert visit(cast.bob).get(address).status_code == 403
    assert teacher.post(address, sent(easy, weeks=12)).status_code == 302
    rows = list(course.assignments.order_by("due_at"))
    assert [row.name for row in rows] == [f"Week {number}" for number in range(1, 13)]
    # The 28th of March changes the clocks of Berlin.
    assert {f"{row.due_at.astimezone(timezone.get_fixed_timezone(120)):%H:%M}" for row in rows[1:]} == {"18:00"}
    assert {(one.percent, one.marks) for row in rows for one in row.baselines.all()} == {(60, 10)}
    assert AuditEntry.objects.filter(action="add", model="core.assignment").count() == 12
    assert "12 assignments are added." in teacher.get("/courses/robots/").text
    late = teacher.post(address, sent(easy, weeks=12, opens_at="9999-11-01T18:00", due_at="9999-12-31T18:00"))
    assert (late.status_code, "before the end of 9990" in late.text) == (422, True)
    wrong = teacher.post(address, sent(easy, due_at="2027-03-01T18:00", agent_2=easy.agent_id))
    assert wrong.status_code == 422
    assert "The deadline is before it opens" in wrong.text


def test_pages_of_a_course_have_no_tabs_of_the_organisers_desk(course: Course, cast: Cast, visit: As) -> None:
    Member.objects.create(course=course, user=cast.olga, role=Role.TEACHER)
    olga, desk = visit(cast.olga), 'aria-label="Organise"'
    bea = user_invite(email="", username="bea", name="Bea")
    code = reverse("web:course_code", args=["robots", member_of(course, bea).pk])
    pages = [olga.get("/courses/robots/people/add/"), olga.get("/organise/tournaments/plan/?course=robots")]
    for page_of_course in (*pages, olga.post(code)):
        assert page_of_course.status_code == 200
        assert desk not in page_of_course.text
    assert desk in olga.get("/organise/people/class/").text


def member_of(course: Course, person: User) -> Member:
    return Member.objects.create(course=course, user=person)


def test_where_agents_play_alone_the_page_shows_the_score(
    course: Course, teacher: Client, cast: Cast, visit: As
) -> None:
    pole = factories.task(episodes=4)
    form = {
        "name": "Pole", "environment": pole.pk, "weeks": 1, "about": "", "weight": 1, "late_days": 0, "late_percent": 0,
        "opens_at": "2026-11-01T18:00", "due_at": "2099-11-08T18:00", "score_1": "20.5", "marks_1": 4, "percent_1": 50,
        "percent_2": 50, "marks_2": 10, "percent_3": 50, "marks_3": 10,
    }  # fmt: skip
    address = reverse("web:assignment_add", args=["robots"])
    assert teacher.post(address, form | {"score_1": ""}).status_code == 422
    assert teacher.post(address, form).status_code == 302
    task = Assignment.objects.get()
    made = version(cast.bob, pole, task.opens_at)
    assert assignment_advance(assignment_id=task.pk, now=timezone.now()) == 1
    bob = visit(cast.bob)
    assert "is playing or waits for its turn." in bob.get(page(task)).text
    rows = Evaluation.every.filter(assignment=task)
    factories.moved(rows, JobState.SUCCEEDED, score=30.0)
    text = " ".join(bob.get(page(task)).text.split())
    assert f"{made} scored 30" in text
    assert "Your result: 4 of 4 marks" in text
    assert "4 episodes on seeds of this assignment" in text
    assert "A mean score of 20.5" in text
    of_class = teacher.get(page(task)).text
    assert "score 20.5" in of_class
    assert "Best score</th>" in of_class
    assert '<td\n      class="num">30</td>' in of_class
    (line,) = teacher.get("/api/v1/courses/robots/marks/").json()["results"]
    assert [(one["agent"], one["score"], one["state"]) for one in line["assignments"][0]["baselines"]] == [
        (None, 20.5, "passed")
    ]
    # Of its evaluation there is no page, for anyone.
    assert {client.get(f"/evaluations/{rows.get().pk}/").status_code for client in (bob, teacher)} == {404}
    assert rows.get().pk not in {row["id"] for row in bob.get("/api/v1/evaluations/").json()["results"]}


def test_a_form_keeps_a_baseline_that_rests_and_an_environment_that_is_closed(
    task: Assignment, teacher: Client, easy: Submission
) -> None:
    change = page(task, "assignment_change")
    Agent.objects.filter(pk=easy.agent_id).update(is_resting=True)
    Environment.objects.filter(pk=task.environment_id).update(is_active=False)
    form = teacher.get(change).context["form"]
    chosen = {name: field.value() for name in ("environment", "agent_1") if (field := form[name])}
    for name, value in chosen.items():
        assert f'value="{value}" selected' in str(form[name]), name
    assert teacher.post(change, sent(easy, name="Same")).status_code == 302
    assert task.baselines.get().agent_id == easy.agent_id


def test_a_teacher_changes_copies_and_deletes_an_assignment(
    task: Assignment, teacher: Client, easy: Submission
) -> None:
    change = page(task, "assignment_change")
    assert "Europe/Berlin" in teacher.get(change).text
    assert teacher.post(change, sent(easy, name="First", percent_1=75)).status_code == 302
    task.refresh_from_db()
    assert (task.name, task.baselines.get().percent) == ("First", 75)
    answer = teacher.post(page(task, "assignment_copy"), follow=True)
    assert "First, a week later is added." in answer.text
    made = Assignment.objects.latest("pk")
    assert "is deleted" in teacher.post(page(made, "assignment_delete"), follow=True).text
    assert Assignment.objects.count() == 1


def test_a_student_sees_live_what_is_reached_and_where_it_lost(
    task: Assignment, course: Course, cast: Cast, visit: As, teacher: Client
) -> None:
    bob = visit(cast.bob)
    assert "No version has played yet." in bob.get(page(task)).text
    version(cast.bob, task.environment, task.due_at - DAY)
    assignment_advance(assignment_id=task.pk, now=timezone.now())
    live = bob.get(page(task), headers={"HX-Request": "true", "HX-Target": "results"})
    assert "is playing or waits for its turn" in " ".join(live.text.split())
    assert "<html" not in live.text
    (duel,) = play(task, forfeits=50)
    text = " ".join(bob.get(page(task)).text.split())
    assert "Not reached" in text
    assert "does not reach 50% against easy v1." in text
    assert "Your result: 0 of 10 marks" in text
    assert f"/duels/{duel.pk}/matches/" in text
    notice = Notice.objects.get(user=cast.bob, kind=NoticeKind.CHALLENGE_ENDED)
    assert notice.title.startswith("Week 1: the test of ")
    assert bob.get(notice.address).status_code == 200
    assert "Cancel this challenge" not in bob.get(notice.address).text
    everyone = teacher.get(page(task)).text
    assert "Not reached" in everyone
    one = page(task, "assignment_person", course.members.get(user=cast.bob).pk)
    assert one in everyone
    assert "does not reach 50%" in " ".join(teacher.get(one).text.split())
    # What a later version reaches counts, less what it is late.
    version(cast.bob, task.environment, task.due_at + timedelta(hours=2))
    play(task, gifts={"bob": 1})
    text = " ".join(bob.get(page(task)).text.split())
    assert "Your result: 7.5 of 10 marks" in text
    assert "1 day late: 7.5 of 10 marks." in text


def test_the_turning_point_of_a_lost_match_is_told(task: Assignment, cast: Cast, visit: As) -> None:
    version(cast.bob, task.environment, task.due_at - DAY)
    task.baselines.update(percent=80)
    (duel,) = play(task)
    with records_open(duel) as archive:
        lost = next(row.number for row in archive.index if row.outcome is Outcome.PLAYER_2 and row.fault is Fault.NONE)
    Analysis.objects.all().delete()
    solve(duel, lost)
    text = " ".join(visit(cast.bob).get(page(task)).text.split())
    assert f"match {lost}</a>. Turning point: " in text
    assert "#analysis" in text


def solve(duel: Duel, number: int) -> None:
    """Analyse a match as a worker does."""
    assert analysis_begin(user=duel.player_1.agent.owner, played=duel, number=number)
    job = job_claim(kind=Analysis, job_id=Analysis.objects.get().pk, worker="worker-1")
    assert job is not None
    record, _ = match_get(duel, number)
    analysis_succeed(analysis=job, positions=solve_match(spec_get(duel), record), log="", seats=record.seats)


def recounted(matches: list[MatchRecord], percent: int) -> bool:
    """Whether a share is reached, from the matches alone: the same question, asked of half points counted here."""
    points = [Fraction(2 if one.outcome is Outcome.PLAYER_1 else one.outcome is Outcome.DRAW) for one in matches]
    pairs = {number: int(points[2 * number] + points[2 * number + 1]) for number in range(len(points) // 2)}
    test = SequentialTest(0, 50, cap=1000).reaching(percent / 100)
    state = decide(test, pairs).state
    if state in (SequentialState.ACCEPTED_H1, SequentialState.ACCEPTED_H0):
        return state is SequentialState.ACCEPTED_H1
    return sum(points) * 50 >= percent * len(points)


def test_marks_equal_an_independent_recount_of_the_records(
    task: Assignment, course: Course, teacher: Client, easy: Submission, cast: Cast
) -> None:
    hard = played.ready(factories.agent(cast.alice, task.environment, "hard"))
    task.baselines.create(agent=hard.agent, percent=70, marks=5)
    Member.objects.filter(user=cast.bob).delete()
    people = [member(course, f"s{number}").user for number in range(6)]
    for number, one in enumerate(people[:5]):
        # The fourth is one day late, the fifth too late.
        uploaded = task.due_at + (timedelta(hours=(-5, -4, -3, 3, 72)[number]))
        version(one, task.environment, uploaded)
    play(task, gifts={"s1": 2, "s2": 3, "s3": 1})
    version(people[0], task.environment, task.due_at - timedelta(hours=1))
    play(task, gifts={"s0": 1})
    expected = {one.username: Fraction() for one in people}
    for one in people:
        for baseline in task.baselines.all():
            worth = Fraction()
            mine = Duel.objects.filter(player_1__agent__owner=one, player_2__agent=baseline.agent)
            for duel in mine.exclude(challenge=None):
                with records_open(duel) as archive:
                    matches = [archive.match(row.number) for row in archive.index]
                late = max(0, (duel.player_1.created_at - task.due_at).total_seconds())
                days = -(-late // 86400)
                if days <= 2 and recounted(matches, baseline.percent):
                    worth = max(worth, baseline.marks * (100 - 25 * Fraction(days)) / 100)
            expected[one.username] += worth
    rows = list(csv.DictReader(io.StringIO(marks_csv(teacher))))
    assert {row["user"]: Fraction(row["Week 1 (of 15)"]) for row in rows} == expected
    assert {row["user"]: round(Fraction(row["percent"]), 2) for row in rows} == {
        name: round(100 * marks / 15, 2) for name, marks in expected.items()
    }
    # The absent one and the one who was too late are there, and the results differ.
    assert expected["s0"] == 15
    assert len(set(expected.values())) > 3, expected
    assert expected["s4"] == expected["s5"] == 0


def test_an_extension_is_given_to_chosen_people_on_the_roster(
    task: Assignment, course: Course, teacher: Client, cast: Cast, visit: As
) -> None:
    bob = course.members.get(user=cast.bob)
    roster = reverse("web:course_people", args=["robots"])
    assert 'name="member"' in teacher.get(roster).text
    address = reverse("web:course_extend", args=["robots"])
    form = {"assignment": task.pk, "due_at": "2099-12-05T18:00", "member": [bob.pk]}
    assert "1 person has until 5 Dec 2099, 18:00 Europe/Berlin" in teacher.post(address, form, follow=True).text
    assert "5 Dec 2099, 18:00 Europe/Berlin" in teacher.get(roster).text
    assert AuditEntry.objects.get(action="extend").note == "Until 5 Dec 2099, 18:00 Europe/Berlin: bob."
    wrongs: list[dict[str, object]] = [
        {"member": []},
        {"due_at": "soon"},
        {"due_at": "9999-12-31T23:59"},
        {"assignment": 0},
    ]
    for wrong in wrongs:
        assert "No deadline was changed." in teacher.post(address, form | wrong, follow=True).text
    elsewhere = member(Course.objects.create(slug="fish", name="Fish"), "finn")
    for other in (elsewhere.pk, 10**30, "x"):
        assert "No deadline was changed." in teacher.post(address, form | {"member": [other]}, follow=True).text
    # A deadline of all that is moved behind it leaves no extension; neither does an earlier one of a person.
    Assignment.objects.filter(pk=task.pk).update(due_at=task.due_at + timedelta(days=40_000))
    assert "(extended)" not in visit(cast.bob).get(page(task)).text
    Assignment.objects.filter(pk=task.pk).update(due_at=task.due_at)
    assert "(extended)" in visit(cast.bob).get(page(task)).text
    early = teacher.post(address, form | {"due_at": "2000-01-01T00:00"}, follow=True).text
    assert f"1 person has until {course.moment(task.due_at)} for Week 1." in early
    teacher.post(address, form)
    bob.delete()
    assert not task.extensions.exists()


def test_a_teacher_changes_the_marks_of_a_student_by_hand(
    task: Assignment, course: Course, teacher: Client, cast: Cast, visit: As
) -> None:
    found = course.members.get(user=cast.bob)
    address = page(task, "assignment_mark", found.pk)
    assert address in teacher.get(page(task, "assignment_person", found.pk)).text
    form = {"marks": "2.5", "reason": "Copied from Ann."}
    for wrong in ({"marks": "11"}, {"marks": "many"}, {"reason": ""}):
        assert teacher.post(address, form | wrong).status_code == 422
    assert "bob has 2.5 of 10 marks, changed by hand in Week 1." in teacher.post(address, form, follow=True).text
    bob = visit(cast.bob)
    text = " ".join(bob.get(page(task)).text.split())
    assert "Your result: 2.5 of 10 marks" in text
    assert "Changed by hand: Copied from Ann." in text
    assert "the results give 0" in text
    assert "by hand" in bob.get("/courses/robots/marks/").text
    (line,) = bob.get("/api/v1/courses/robots/marks/").json()["results"]
    assert (line["assignments"][0]["marks"], line["assignments"][0]["by_hand"]) == (2.5, "Copied from Ann.")
    (row,) = csv.DictReader(io.StringIO(marks_csv(teacher)))
    assert (row["Week 1 (of 10)"], row["changed by hand"]) == ("2.5", "Week 1: Copied from Ann.")
    assert AuditEntry.objects.get(action="mark_by_hand").note == (
        "bob has 2.5 of 10 marks, changed by hand in Week 1. Reason: Copied from Ann."
    )
    assert bob.post(address, form).status_code == 403
    tutor = visit(member(course, "tina", Role.TUTOR).user)
    assert address not in tutor.get(page(task, "assignment_person", found.pk)).text
    assert tutor.post(address, form).status_code == 403
    elsewhere = member(Course.objects.create(slug="fish", name="Fish"), "finn")
    staff = course.members.get(role=Role.TEACHER)
    for other in (elsewhere, staff):
        assert teacher.post(page(task, "assignment_mark", other.pk), form).status_code == 404
    back = {"marks": "", "back": "1", "reason": "It was Ann."}
    assert "has the marks of the results again" in teacher.post(address, back, follow=True).text
    assert "Changed by hand" not in bob.get(page(task)).text


def test_the_marks_of_many_come_in_pages_and_are_found_by_name(
    task: Assignment, course: Course, teacher: Client, visit: As, cast: Cast
) -> None:
    for number in range(51):
        member(course, f"s{number:02}")
    address = "/courses/robots/marks/"
    first, second = (teacher.get(f"{address}?page={number}").text for number in (1, 2))
    assert "/users/s49/" in first
    assert "/users/s50/" not in first
    assert "/users/s50/" in second
    found = teacher.get(f"{address}?q=s5").text
    assert "/users/s50/" in found
    assert "/users/s49/" not in found
    assert "No student matches." in teacher.get(f"{address}?q=no+such").text
    # A student reads their own line whatever they look for.
    assert "/users/bob/" in visit(cast.bob).get(f"{address}?q=s50").text
    answer = teacher.get(f"/api/v1{address}?page=2").json()
    assert (answer["count"], len(answer["results"]), answer["next"]) == (52, 2, None)
    assert len(teacher.get("/courses/robots/marks.csv").text.splitlines()) == 53


def test_a_teacher_lets_the_best_assignments_count(
    task: Assignment, course: Course, teacher: Client, cast: Cast
) -> None:
    second = Assignment.objects.create(
        course=course, environment=task.environment, name="W2", opens_at=task.opens_at, due_at=task.due_at
    )
    second.baselines.create(score=1.0, marks=10)
    task.marks_by_hand.create(user=cast.bob, marks=5, reason="A test.")
    marks, change = f"/courses/{course.slug}/marks/", reverse("web:course_change", args=[course.slug])
    text = " ".join(teacher.get(marks).text.split())
    assert "Percent is the mean of the assignments that have opened" in text
    assert '<td class="num">25</td>' in text
    fields = {"name": "Robots", "slug": "robots", "kind": course.kind, "seen_by": course.seen_by, "time_zone": "UTC"}
    assert teacher.post(change, fields | {"counts_best": "1"}).status_code == 302
    text = " ".join(teacher.get(marks).text.split())
    assert "Only the best 1 of each student counts" in text
    assert '<td class="num">50</td>' in text
    assert teacher.post(change, fields).status_code == 302
    course.refresh_from_db()
    assert course.counts_best == 0


def test_the_file_of_a_course_without_students_has_its_headings(
    task: Assignment, course: Course, teacher: Client, cast: Cast
) -> None:
    course.members.get(user=cast.bob).delete()
    text = marks_csv(teacher)
    assert text.split() == ["user,name,team,Week", "1", "(of", "10),percent,changed", "by", "hand"]


def rights() -> list[tuple[str, int, int]]:
    """Who, what they get for the marks of all, and how many people they read of."""
    return [
        ("TEACHER", 200, 3), ("TUTOR", 200, 3), ("REFEREE", 200, 3), ("STUDENT", 403, 1), ("other", 404, 0),
        ("stranger", 404, 0), ("gone", 404, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(("who", "status", "count"), rights())
@pytest.mark.parametrize("seen_by", [SeenBy.MEMBERS, SeenBy.EVERYONE])
def test_who_sees_which_marks(
    task: Assignment, course: Course, cast: Cast, visit: As, who: str, status: int, count: int, seen_by: SeenBy
) -> None:
    version(cast.bob, task.environment, task.due_at - DAY)
    User.objects.filter(pk=cast.bob.pk).update(first_name="Bob Müller")
    (duel,) = play(task, forfeits=50)
    member(course, "pat")
    person: User | None = None
    if who in Role.values:
        person = member(course, "quinn", Role(who)).user
    elif who == "gone":
        left = member(course, "quinn")
        version(left.user, task.environment, task.due_at - DAY)
        play(task)
        left.delete()
        person = left.user
    elif who == "other":
        person = member(Course.objects.create(slug="fish", name="Fish"), "finn").user
    if who != "STUDENT":
        member(course, "rob")
    Course.objects.filter(pk=course.pk).update(seen_by=seen_by)
    client, open_to_all = visit(person), seen_by == SeenBy.EVERYONE
    answer = client.get("/courses/robots/marks.csv")
    login = 302 if person is None else 403
    assert answer.status_code == (login if status == 404 and open_to_all else status)
    api: Any = client.get("/api/v1/courses/robots/marks/")
    assert api.status_code == (200 if count else 401 if person is None and open_to_all else 404)
    if count:
        assert api.json()["count"] == count
        mine = {row["user"] for row in api.json()["results"]}
        assert mine == ({"quinn"} if who == "STUDENT" else {"bob", "pat", "rob"})
        assert any(row["name"] for row in api.json()["results"]) is (who in ("TEACHER", "TUTOR"))
    sees = who in ("TEACHER", "TUTOR", "REFEREE")
    if sees:
        addresses = ("/courses/robots/marks/", "/courses/robots/marks.csv", "/courses/robots/people/", page(task))
        assert {"Bob Müller" in client.get(one).text for one in addresses} == {who != "REFEREE"}
    assert client.get(f"/duels/{duel.pk}/").status_code == (200 if sees else 404)
    assert client.get(f"/challenges/{duel.challenge_id}/").status_code == (200 if sees else 404)
    ids = "&id=".join(str(one.public_id) for one in (duel.player_1, duel.player_2))
    compared = client.get(f"/environments/{task.environment.slug}/compare/?id={ids}")
    assert compared.status_code == 200
    assert (f"/duels/{duel.pk}/" in compared.text) is sees
    one = page(task, "assignment_person", course.members.get(user=cast.bob).pk)
    assert (client.get(one).status_code == 200) is sees
    text = client.get(page(task)).text
    assert ("Not reached" in text) is sees
    archive = client.get(reverse("web:submission_archive", args=[duel.player_1_id]))
    archive.close()
    assert (archive.status_code == 200) is (who in ("TEACHER", "TUTOR"))
    own = Duel.objects.filter(challenge__user=person).first() if person else None
    if who == "gone":
        assert own is not None
        assert client.get(f"/duels/{own.pk}/").status_code == 404


def test_more_students_cost_no_more_queries(task: Assignment, course: Course, teacher: Client) -> None:
    counts = []
    addresses = [page(task), "/courses/robots/marks/", "/courses/robots/marks.csv", "/courses/robots/",
                 "/api/v1/courses/robots/marks/", "/courses/robots/people/"]  # fmt: skip
    teacher.get("/courses/")
    for name in ("c", "d"):
        for number in range(3):
            version(member(course, f"{name}{number}").user, task.environment, task.due_at - DAY)
        play(task, forfeits=10)
        with CaptureQueriesContext(connection) as asked:
            for address in addresses:
                assert teacher.get(address).status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_who_has_left_a_team_after_a_deadline_reads_its_results_without_links_to_its_duels(
    course: Course, task: Assignment, cast: Cast, visit: As
) -> None:
    bob = course.members.get(user=cast.bob)
    team = team_create(course=course, name="blue", people=[bob])
    FormerTeam.objects.update(left_at=task.opens_at)
    version(team.account, task.environment, task.due_at - 2 * DAY)
    (duel,) = play(task, forfeits=60)
    address = reverse("web:duel", args=[duel.pk])
    student, staff = visit(cast.bob), visit(cast.alice)
    assert f"{address}matches/" in student.get(page(task)).text
    member_move(member=bob, team=None)
    shown = student.get(page(task)).text
    assert address not in shown
    assert "lost 36 of 36 matches" in shown
    assert [student.get(one).status_code for one in (address, f"{address}matches/1/")] == [404, 404]
    assert f"{address}matches/" in staff.get(page(task, "assignment_person", bob.pk)).text
