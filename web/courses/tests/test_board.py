"""The board of a class on its page and over the API: who sees it, in pages, at a cost that no class raises."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.assignments.board import board_key
from core.assignments.services import Wanted, assignment_save
from core.assignments.testing import assignment_advance
from core.assignments.tests.rows import member, version
from core.courses.teams import team_create
from core.models import Assignment, Course, Evaluation, JobState, Member, Role, SeenBy, User
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
TITLE = "Board of the class"


@pytest.fixture
def task(cast: Cast) -> Assignment:
    """alice teaches, bob is a student; a score of 20 is to be reached by tomorrow."""
    here = Course.objects.create(slug="robots", name="Robots", seen_by=SeenBy.MEMBERS, time_zone="Europe/Berlin")
    Member.objects.create(course=here, user=cast.alice, role=Role.TEACHER)
    Member.objects.create(course=here, user=cast.bob)
    now = timezone.now()
    row = Assignment(
        course=here, environment=factories.task(episodes=4), name="Pole", opens_at=now - 7 * DAY, due_at=now + DAY,
        has_board=True,
    )  # fmt: skip
    assignment_save(assignment=row, wanted=[Wanted(None, 50, 4, 20.0)])
    return row


def address(task: Assignment) -> str:
    return reverse("web:assignment", args=[task.course.slug, task.pk])


def api(task: Assignment) -> str:
    return f"/api/v1/courses/{task.course.slug}/assignments/{task.pk}/board/"


def scored(task: Assignment, scores: dict[User, float]) -> None:
    """Give people a version with this score each."""
    for person in scores:
        version(person, task.environment, task.opens_at)
    while assignment_advance(assignment_id=task.pk, now=timezone.now()):
        pass
    for row in Evaluation.every.filter(state=JobState.QUEUED).select_related("agent__owner"):
        score = scores[row.agent.owner]
        done = {"score": score, "score_low": score - 1.5, "score_high": score + 1.5}
        factories.moved(Evaluation.every.filter(pk=row.pk), JobState.SUCCEEDED, **done)
    caches["answers"].delete(board_key(task))


def test_a_class_sees_its_board_with_the_own_row_marked(task: Assignment, cast: Cast, visit: As) -> None:
    bob, course = visit(cast.bob), task.course
    assert "No version has a score yet." in bob.get(address(task)).text
    ann, dora = member(course, "ann"), member(course, "dora").user
    blue = team_create(course=course, name="blue", people=[ann])
    scored(task, {cast.bob: 15.25, blue.account: 30.0, dora: 30.0})
    text = " ".join(bob.get(address(task)).text.split())
    assert "You are 3rd of 3." in text
    assert "It changes as results come in." in text
    assert text.count('<tr class="own">') == 1
    assert "15.25 <small" in text
    assert "</span>13.75 to 16.75</small>" in text
    assert 'Score 20 <span class="badge badge-calm">Baseline</span>' in text
    of_team = " ".join(visit(ann.user).get(address(task)).text.split())
    assert "You are 1st of 3." in of_team
    assert "Your team</span>" in of_team
    live = bob.get(address(task) + "?page=1", headers={"HX-Request": "true", "HX-Target": "results"}).text
    assert TITLE in live
    assert 'hx-get="/courses/robots/assignments/' in live
    assert '?page=1"' in live
    answer = bob.get(api(task)).json()
    found = [(row["rank"], row["name"], row["score"], row["is_own"]) for row in answer["results"]]
    assert found == [
        (1, "blue", 30.0, False), (1, "dora", 30.0, False), (None, "score 20", 20.0, False), (3, "bob", 15.25, True),
    ]  # fmt: skip
    assert (answer["results"][3]["score_low"], answer["results"][3]["score_high"]) == (13.75, 16.75)
    Assignment.objects.update(due_at=timezone.now() - DAY)
    caches["answers"].delete(board_key(task))
    assert "Final since <time" in bob.get(address(task)).text


def test_a_teacher_shows_the_board_by_a_box_of_the_form(task: Assignment, cast: Cast, visit: As) -> None:
    teacher = visit(cast.alice)
    form = teacher.get(reverse("web:assignment_change", args=["robots", task.pk]))
    assert "see each other&#x27;s names or teams and scores." in form.text
    sent = {name: value for name, value in form.context["form"].initial.items() if name in form.context["form"].fields}
    sent |= {"opens_at": "2026-11-01T18:00", "due_at": "2099-11-08T18:00", "score_1": "20", "marks_1": 4,
             "percent_1": 50, "percent_2": 50, "marks_2": 10, "percent_3": 50, "marks_3": 10}  # fmt: skip
    sent["seen"] = form.context["form"].seen
    del sent["has_board"]
    assert teacher.post(form.request["PATH_INFO"], sent).status_code == 302
    assert not Assignment.objects.get().has_board
    del sent["seen"]
    game = factories.environment()
    wrong = teacher.post(
        reverse("web:assignment_add", args=["robots"]),
        sent | {"has_board": "on", "environment": game.pk, "score_1": "", "weeks": 1,
                "agent_1": factories.ready(factories.agent(cast.alice, game, "easy")).agent_id},
    )  # fmt: skip
    assert wrong.status_code == 422
    assert "Only where agents play alone" in wrong.text


@pytest.mark.parametrize("who", [*Role.values, "other", "stranger", "gone"])
@pytest.mark.parametrize("seen_by", [SeenBy.MEMBERS, SeenBy.EVERYONE])
def test_who_sees_which_board(task: Assignment, cast: Cast, visit: As, who: str, seen_by: SeenBy) -> None:
    course, person = task.course, None
    if who in Role.values:
        person = member(course, "quinn", Role(who)).user
    elif who == "gone":
        left = member(course, "quinn")
        person = left.user
        scored(task, {person: 25.0})
        left.delete()
    elif who == "other":
        person = member(Course.objects.create(slug="fish", name="Fish"), "finn").user
    scored(task, {cast.bob: 30.0})
    User.objects.filter(pk=cast.bob.pk).update(first_name="Bob Müller")
    Course.objects.filter(pk=course.pk).update(seen_by=seen_by)
    client, is_of_course = visit(person), who in Role.values
    shown, answer = client.get(address(task)), client.get(api(task))
    is_open = seen_by == SeenBy.EVERYONE
    assert shown.status_code == (200 if is_of_course or is_open else 404)
    assert answer.status_code == (200 if is_of_course else 401 if person is None and is_open else 404)
    assert ("/users/bob/" in shown.text) is is_of_course
    assert (TITLE in shown.text) is is_of_course
    if is_of_course:
        assert [row["name"] for row in answer.json()["results"]] == ["bob", "score 20"]
    if who == "STUDENT":
        assert "Müller" not in shown.text + answer.text
    # Without the box there is no board, and students see nothing of each other.
    Assignment.objects.update(has_board=False)
    shown = client.get(address(task))
    assert TITLE not in shown.text
    assert client.get(api(task)).status_code == (401 if person is None and is_open else 404)
    if who in ("STUDENT", "other", "stranger", "gone"):
        assert "bob" not in shown.text


def test_a_long_board_comes_in_pages_and_no_class_costs_more_queries(task: Assignment, cast: Cast, visit: As) -> None:
    counts, people = [], [member(task.course, f"s{number:02}").user for number in range(60)]
    client = visit(people[-1])
    client.get(address(task))
    for some in (people[:5], people[5:]):
        scored(task, {person: 100.0 - people.index(person) for person in some})
        with CaptureQueriesContext(connection) as asked:
            first = client.get(address(task)).text
        counts.append(len(asked))
    assert counts[0] == counts[1]
    assert "/users/s49/" in first
    assert "/users/s50/" not in first
    assert "You are 60th of 60." in first
    second: Any = client.get(address(task) + "?page=2").text
    assert "/users/s50/" in second
    assert "/users/s49/" not in second
    assert second.count('<tr class="own">') == 1
    answer = client.get(api(task) + "?page=2").json()
    assert (answer["count"], len(answer["results"]), answer["next"]) == (61, 11, None)
    assert "/users/s50/" in client.get(address(task) + "?page=9").text


@pytest.mark.parametrize("path", ["marks/", "assignments/1/board/"])
def test_a_stranger_learns_the_same_of_a_course_that_does_not_exist(visit: As, path: str) -> None:
    assert visit(None).get(f"/api/v1/courses/no-such-course/{path}").status_code == 404
