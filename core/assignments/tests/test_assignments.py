"""Assignments: which versions meet which baselines, what is reached, and the marks that follow."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import combinations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.cache import caches
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.assignments.marks import GoalState, assignment_marks, course_marks, membership
from core.assignments.services import (
    Wanted,
    assignment_copy,
    assignment_delete,
    assignment_save,
    baselines_for,
    extend,
    mark_by_hand,
)
from core.assignments.testing import TRIES, assignments_advance
from core.assignments.tests.rows import DUE, advance, assignment, course, end, member, reference, version
from core.courses.services import member_remove, members_add
from core.courses.sight import hidden, listed, seen
from core.courses.tutoring import agents_tutored
from core.duels.challenges import challenge_cancel
from core.duels.selectors import duel_get
from core.errors import Refused
from core.evaluations.seeds import seed_list_reveal
from core.evaluations.selectors import ranking_list
from core.evaluations.services import evaluation_succeed
from core.jobs.artifacts import EvaluationArtifacts
from core.jobs.lifecycle import job_claim
from core.models import (
    Assignment,
    AuditEntry,
    Challenge,
    Course,
    Duel,
    Environment,
    Evaluation,
    JobState,
    Member,
    Notice,
    Role,
    SeenBy,
    Submission,
    User,
)
from core.moderation.services import agent_disable, user_ban
from core.people.audit_log import Operator
from core.people.quota_usage import challenges_counted
from core.submissions.cancels import open_phase
from core.submissions.existing import agent_delete, submission_delete
from core.tests import factories
from core.tests.factories import NOON
from core.watching.wall import duel_is_public

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def here() -> Course:
    return course()


@pytest.fixture
def teacher(here: Course) -> User:
    return member(here, "tess", Role.TEACHER).user


@pytest.fixture
def sid(here: Course) -> Member:
    return member(here, "sid")


@pytest.fixture
def baselines(teacher: User, environment: Environment) -> list[Submission]:
    return [reference(teacher, environment, name) for name in ("easy", "hard")]


@pytest.fixture
def task(here: Course, environment: Environment, baselines: list[Submission]) -> Assignment:
    return assignment(here, environment, *baselines, late_days=3, late_percent=20)


def states(task: Assignment, person: User | None = None) -> list[GoalState]:
    (mark,) = assignment_marks(task, people=None if person is None else membership(task.course, person))
    return [goal.state for goal in mark.goals]


def test_an_assignment_without_changes_is_left_alone() -> None:
    of, environment = course(), factories.environment()
    teacher, ann = member(of, "tess", Role.TEACHER), member(of, "ann")
    assignment(of, environment, reference(teacher.user, environment, "easy"))
    assert assignments_advance(now=DUE) == 0
    with CaptureQueriesContext(connection) as asked:
        assert assignments_advance(now=DUE) == 0
    assert not any("baseline" in query["sql"] for query in asked)

    version(ann.user, environment, DUE - timedelta(hours=1))
    caches["answers"].delete(f"shown:{environment.slug}")
    assert assignments_advance(now=DUE) == 1
    duel = Duel.objects.get()
    factories.moved(Duel.objects.filter(pk=duel.pk), JobState.CANCELLED)
    # A test that was cancelled does not count: the baseline was away, not beaten.
    assert assignments_advance(now=DUE) == 1


def test_a_version_meets_each_baseline_once_and_keeps_what_it_has_reached(task: Assignment, sid: Member) -> None:
    first = version(sid.user, task.environment, NOON)
    easy, hard = advance(task)
    assert [one.player_2.agent.name for one in (easy, hard)] == ["easy", "hard"]
    assert {(one.player_1, one.challenge.user, one.seed) for one in (easy, hard) if one.challenge} == {
        (first, sid.user, easy.seed)
    }
    assert states(task) == [GoalState.PLAYING, GoalState.PLAYING]
    assert advance(task) == []
    end(easy, reached=True)
    # One version at a time.
    second = version(sid.user, task.environment, NOON + DAY)
    assert advance(task) == []
    end(hard, reached=False)
    assert states(task) == [GoalState.PASSED, GoalState.FAILED]
    (again,) = advance(task)
    assert (again.player_1, again.player_2.agent.name) == (second, "hard")
    end(again, reached=True)
    assert states(task) == [GoalState.PASSED, GoalState.PASSED]
    assert assignment_marks(task)[0].marks == 20
    version(sid.user, task.environment, NOON + 2 * DAY)
    assert advance(task) == []


def test_a_test_that_ends_undecided_is_decided_by_the_share_itself(task: Assignment, sid: Member) -> None:
    version(sid.user, task.environment, NOON)
    for duel, points in zip(advance(task), (5, 4), strict=True):
        end(duel, reached=None, points=points)
    assert states(task) == [GoalState.PASSED, GoalState.FAILED]


def test_late_versions_lose_marks_by_the_day_and_take_none_away(task: Assignment, sid: Member) -> None:
    version(sid.user, task.environment, DUE)
    easy, hard = advance(task)
    end(easy, reached=True)
    end(hard, reached=False)
    version(sid.user, task.environment, DUE + timedelta(hours=1))
    (late,) = advance(task, DUE + DAY)
    end(late, reached=True)
    mark = assignment_marks(task)[0]
    assert [(goal.marks, goal.late_days) for goal in mark.goals] == [(10, 0), (Decimal("8.00"), 1)]
    # Two days late it could gain nothing, and after three days nothing counts.
    version(sid.user, task.environment, DUE + DAY + timedelta(seconds=1))
    version(sid.user, task.environment, DUE + 3 * DAY + timedelta(seconds=1))
    assert advance(task, DUE + 4 * DAY) == []


def test_a_version_uploaded_in_time_is_tested_before_a_later_one(task: Assignment, sid: Member) -> None:
    in_time = version(sid.user, task.environment, DUE - timedelta(minutes=1))
    late = version(sid.user, task.environment, DUE + timedelta(minutes=1))
    begun = advance(task, DUE + DAY)
    assert {one.player_1 for one in begun} == {in_time}
    for one in begun:
        end(one, reached=False)
    assert {one.player_1 for one in advance(task, DUE + DAY)} == {late}


@pytest.mark.parametrize(("hour", "marks"), [(16, 5), (17, 5), (18, 0)])
def test_a_late_day_ends_at_the_same_time_by_the_clocks(
    here: Course, sid: Member, baselines: list[Submission], hour: int, marks: int
) -> None:
    # 18:00 in Berlin before the clocks go back; the next day 18:00 is 25 hours later.
    due = datetime(2026, 10, 24, 16, tzinfo=UTC)
    fields = {"opens_at": due - DAY, "due_at": due, "late_days": 1, "late_percent": 50}
    task = assignment(here, baselines[0].agent.environment, baselines[0], **fields)
    uploaded = datetime(2026, 10, 25, hour, 0, tzinfo=UTC)
    version(sid.user, task.environment, uploaded)
    for one in advance(task, uploaded):
        end(one, reached=True)
    assert assignment_marks(task)[0].marks == marks


def test_an_extension_moves_the_deadline_of_one_person(task: Assignment, sid: Member, here: Course) -> None:
    other = member(here, "otto")
    assert extend(assignment=task, members=[sid], due_at=DUE + 5 * DAY) == 1
    for one in (sid, other):
        version(one.user, task.environment, DUE + 4 * DAY)
    begun = advance(task, DUE + 5 * DAY)
    assert {duel.challenge.user for duel in begun if duel.challenge} == {sid.user}
    for duel in begun:
        end(duel, reached=True)
    assert [(mark.member, int(mark.marks), mark.is_extended) for mark in assignment_marks(task)] == [
        (other, 0, False),
        (sid, 20, True),
    ]
    extend(assignment=task, members=[sid], due_at=DUE)
    assert not task.extensions.exists()
    assert assignment_marks(task, people=[sid])[0].marks == 0
    with pytest.raises(Refused, match="at least one"):
        extend(assignment=task, members=[], due_at=DUE)


def test_the_tests_of_a_large_course_begin_in_several_transactions(
    task: Assignment, here: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.assignments.testing.MOST", 2)
    for number in range(4):
        version(member(here, f"s{number}").user, task.environment, NOON)
    assert len(advance(task)) == 2 * 2
    version(member(here, "last").user, task.environment, NOON)
    assert assignments_advance(now=DUE) == 3
    assert advance(task) == []


def test_what_the_arena_fails_is_played_again_a_few_times(task: Assignment, sid: Member) -> None:
    version(sid.user, task.environment, NOON)
    for _ in range(TRIES):
        begun = advance(task)
        assert len(begun) == 2
        factories.moved(Duel.objects.filter(pk__in=[one.pk for one in begun]), JobState.FAILED, fault="PLATFORM")
    assert advance(task) == []
    assert states(task) == [GoalState.NOTHING, GoalState.NOTHING]


def test_nothing_is_tested_before_it_opens_or_in_a_closed_environment(task: Assignment, sid: Member) -> None:
    version(sid.user, task.environment, NOON - 30 * DAY)
    assert advance(task, NOON - DAY) == []
    Environment.objects.update(is_active=False)
    assert advance(task) == []
    Environment.objects.update(is_active=True)
    # A version from before counts too.
    assert assignments_advance(now=NOON, environment=task.environment) == 1


def test_a_baseline_that_cannot_play_is_waited_for(task: Assignment, sid: Member, baselines: list[Submission]) -> None:
    version(sid.user, task.environment, NOON)
    hard = baselines[1].agent
    type(hard).objects.filter(pk=hard.pk).update(is_resting=True)
    (easy,) = advance(task)
    end(easy, reached=True)
    type(hard).objects.filter(pk=hard.pk).update(is_resting=False)
    (later,) = advance(task)
    assert later.player_2.agent == hard


def test_another_share_is_another_question(task: Assignment, sid: Member, baselines: list[Submission]) -> None:
    version(sid.user, task.environment, NOON)
    for one in advance(task):
        end(one, reached=True)
    wanted = [Wanted(baselines[0].agent, 50, 30), Wanted(baselines[1].agent, 80, 10)]
    assignment_save(assignment=task, wanted=wanted)
    task.refresh_from_db()
    assert [(goal.state.value, int(goal.marks)) for goal in assignment_marks(task)[0].goals] == [
        ("passed", 30),
        ("nothing yet", 0),
    ]
    (again,) = advance(task)
    assert again.test is not None
    assert (again.test["elo0"], again.test["elo1"]) == (0.76, 0.84)


def test_the_marks_of_a_course_are_weighted_and_name_everyone(
    task: Assignment, sid: Member, here: Course, baselines: list[Submission]
) -> None:
    absent = member(here, "absent")
    second = assignment(here, task.environment, baselines[0], name="Week 2", weight=3)
    assignment(here, task.environment, baselines[0], name="Week 9", opens_at=DUE + 99 * DAY, due_at=DUE + 100 * DAY)
    version(sid.user, task.environment, NOON)
    for one in advance(task)[:1] + advance(second):
        end(one, reached=True)
    lines = {line.member: line for line in course_marks(here)}
    assert set(lines) == {sid, absent}
    assert [mark.marks for mark in lines[sid].marks] == [10, 10, 0]
    # (1 × 10 of 20 + 3 × 10 of 10) / 4; what has not opened does not count yet.
    assert (lines[sid].percent(DUE), lines[absent].percent(DUE)) == (Decimal("87.50"), Decimal())
    assert lines[sid].percent(NOON - DAY) is None
    # Of the best two, that with half of its marks and weight 1, and that with all and weight 3; then the better alone.
    for best, percent in ((2, "87.50"), (1, "100")):
        Course.objects.update(counts_best=best)
        assert {line.member: line.percent(DUE) for line in course_marks(here)}[sid] == Decimal(percent)


def test_the_best_assignments_of_a_course_are_those_with_the_largest_share_of_their_marks(
    task: Assignment, sid: Member, here: Course
) -> None:
    """Recounted by trying every choice of that many."""
    Course.objects.update(counts_best=3)
    worth = [(Decimal(20), 1)]
    for number, (total, weight) in enumerate(((10, 4), (5, 0), (40, 2), (8, 1), (10, 3))):
        row = Assignment.objects.create(
            course=here, environment=task.environment, name=f"W{number}", opens_at=NOON - DAY, due_at=DUE, weight=weight
        )
        row.baselines.create(score=1.0, marks=total)
        worth.append((Decimal(total), weight))
    given = [Decimal(mark) for mark in ("7.5", "4", "5", "31", "7.25", "0")]
    for row, marks in zip(here.assignments.order_by("pk"), given, strict=True):
        row.marks_by_hand.create(user=sid.user, marks=marks, reason="A test.")
    shares = [(marks / total, weight) for marks, (total, weight) in zip(given, worth, strict=True) if weight]
    (line,) = course_marks(here)
    best = max(combinations(shares, 3), key=lambda chosen: sum(share for share, _ in chosen))
    expected = 100 * sum(share * weight for share, weight in best) / sum(weight for _, weight in best)
    assert line.percent(DUE) == round(expected, 2)


def test_more_people_and_assignments_cost_no_more_queries(
    task: Assignment, here: Course, baselines: list[Submission], django_assert_max_num_queries: object
) -> None:
    for number in range(5):
        version(member(here, f"s{number}").user, task.environment, NOON)
        assignment(here, task.environment, *baselines, name=f"Week {number + 2}")
    advance(task)
    with django_assert_max_num_queries(9):  # type: ignore[operator]
        assert len([mark.marks for line in course_marks(here) for mark in line.marks]) == 30


def test_marks_by_hand_count_until_they_are_taken_back(
    task: Assignment, sid: Member, here: Course, teacher: User
) -> None:
    version(sid.user, task.environment, NOON)
    for one in advance(task):
        end(one, reached=True)

    def by_hand(marks: int | None, reason: str = "Copied from Ann.") -> str:
        given = None if marks is None else Decimal(marks)
        return mark_by_hand(assignment=task, user=sid.user, marks=given, reason=reason, by=teacher)

    assert by_hand(0) == "sid has 0 of 20 marks, changed by hand in Week 1."
    (line,) = course_marks(here)
    assert (line.marks[0].marks, line.marks[0].earned, line.percent(DUE)) == (Decimal(), Decimal(20), Decimal())
    # What is reached stays reached, so nothing is played again.
    assert line.marks[0].is_full
    told = Notice.objects.get(user=sid.user, about=f"marks {task.pk}")
    assert (told.title, told.text) == ("You have 0 of 20 marks, changed by hand in Week 1", "Reason: Copied from Ann.")
    # Nor does a person get them off by leaving the course.
    member_remove(member=sid)
    members_add(course=here, people=[sid.user])
    assert course_marks(here)[0].marks[0].marks == 0
    assert "10 of 20" in by_hand(10)
    for wrong, field in ((-1, "marks"), (21, "marks")):
        with pytest.raises(Refused) as refusal:
            by_hand(wrong)
        assert refusal.value.field == field
    with pytest.raises(Refused, match="reason"):
        by_hand(5, " ")
    assert by_hand(None) == "sid has the marks of the results again in Week 1."
    assert course_marks(here)[0].marks[0].marks == 20
    with pytest.raises(Refused, match="no marks by hand"):
        by_hand(None)


def test_an_assignment_with_marks_by_hand_stays_and_has_as_many(
    task: Assignment, sid: Member, teacher: User, baselines: list[Submission]
) -> None:
    mark_by_hand(assignment=task, user=sid.user, marks=Decimal("12.5"), reason="She showed it.", by=teacher)
    with pytest.raises(Refused, match="marks by hand"):
        assignment_delete(assignment=task)
    with pytest.raises(Refused, match=r"A student has 12\.5 marks by hand, more than these 12\."):
        assignment_save(assignment=task, wanted=[Wanted(baselines[0].agent, 50, 12)])
    assert assignment_save(assignment=task, wanted=[Wanted(baselines[0].agent, 50, 13)]) == [task]


def test_a_person_who_is_removed_and_comes_back_has_their_extension_again(
    task: Assignment, sid: Member, here: Course
) -> None:
    extend(assignment=task, members=[sid], due_at=DUE + 5 * DAY)
    for _ in range(2):
        member_remove(member=here.members.get(user=sid.user))
        assert course_marks(here) == []
        assert members_add(course=here, people=[sid.user, member(course(f"c{sid.pk}"), "eve").user]) == 2
        assert {mark.member.user.username: mark.due_at - DUE for mark in assignment_marks(task)} == {
            "eve": timedelta(),
            "sid": 5 * DAY,
        }
        here.members.get(user__username="eve").delete()
        User.objects.get(username="eve").delete()
        Course.objects.get(slug=f"c{sid.pk}").delete()


def test_a_term_is_made_at_once_and_18_00_stays_18_00(
    here: Course, environment: Environment, baselines: list[Submission]
) -> None:
    due = datetime(2027, 3, 26, 17, 0, tzinfo=UTC)
    first = Assignment(
        course=here, environment=environment, name="Week 9", opens_at=due - 7 * DAY, due_at=due, late_days=2
    )
    made = assignment_save(assignment=first, wanted=[Wanted(baselines[0].agent, 60, 5)], weeks=3)
    assert [one.name for one in made] == ["Week 9", "Week 10", "Week 11"]
    # 18:00 in Berlin, before and after the 28th of March.
    assert [one.due_at.astimezone(UTC).hour for one in made] == [17, 16, 16]
    copy = assignment_copy(assignment=made[2])
    assert (copy.name, copy.late_days) == ("Week 12", 2)
    assert [(one.name, one.percent, one.marks) for one in copy.baselines.all()] == [("easy", 60, 5)]
    assignment_delete(assignment=copy)
    assert here.assignments.count() == 3


def test_what_makes_no_sense_is_refused(task: Assignment, sid: Member, baselines: list[Submission]) -> None:
    one = Wanted(baselines[0].agent, 50, 10)
    elsewhere = Wanted(factories.agent(sid.user, factories.environment("quarto")), 50, 10)
    both, score = Wanted(one.agent, 50, 10, 1.0), Wanted(None, 50, 10, 1.0)
    for wanted, words in (
        ([], "at least one baseline"),
        ([one, one], "once"),
        ([elsewhere], "plays"),
        ([both], "no score"),
        ([score], "no score"),
    ):
        with pytest.raises(Refused, match=words):
            assignment_save(assignment=task, wanted=wanted)
    with pytest.raises(Refused, match="1 to 30"):
        assignment_save(assignment=task, wanted=[one], weeks=99)
    version(sid.user, task.environment, NOON)
    advance(task)
    with pytest.raises(Refused, match="have played"):
        assignment_delete(assignment=task)
    task.environment = elsewhere.agent.environment if elsewhere.agent else task.environment
    with pytest.raises(Refused, match="its environment stays"):
        assignment_save(assignment=task, wanted=[elsewhere])
    with pytest.raises(Refused, match="is a baseline of an assignment"):
        agent_delete(agent=baselines[0].agent)


def test_where_agents_play_alone_a_score_is_reached_on_seeds_of_the_assignment(here: Course, sid: Member) -> None:
    pole = factories.task(episodes=4)
    task = Assignment(course=here, environment=pole, name="Pole", opens_at=NOON, due_at=DUE)
    low, high = Wanted(None, 50, 4, 20.0), Wanted(None, 50, 6, 30.0)
    assignment_save(assignment=task, wanted=[low, high])
    seeds = task.seed_list
    assert (len(seeds.seeds), seeds.is_public) == (4, False)
    with pytest.raises(Refused, match="stay hidden"):
        seed_list_reveal(seed_list=seeds)
    # The board of the environment stays with its own seeds.
    assert ranking_list(pole) not in (None, seeds)
    made = version(sid.user, pole, NOON)
    advance(task)
    advance(task)
    (job,) = Evaluation.every.filter(assignment=task)
    assert (job.submission, job.seed_list, job.episode_count) == (made, seeds, 4)
    assert not Evaluation.objects.exists()
    assert not made.evaluations.exists()
    assert states(task) == [GoalState.PLAYING, GoalState.PLAYING]
    alone(job, 25.0)
    assert states(task) == [GoalState.PASSED, GoalState.FAILED]
    assert assignment_marks(task)[0].marks == 4
    version(sid.user, pole, NOON + DAY)
    advance(task)
    factories.moved(Evaluation.every.filter(state="QUEUED"), JobState.FAILED, score=None)
    assert [goal.state.value for goal in assignment_marks(task)[0].goals] == ["passed", "not reached"]
    advance(task)
    assert Evaluation.every.count() == 2
    copy = assignment_copy(assignment=task)
    assert copy.seed_list != seeds
    with pytest.raises(Refused, match="have played"):
        assignment_delete(assignment=task)


def alone(job: Evaluation, score: float) -> None:
    """End an evaluation as a worker does."""
    claimed = job_claim(kind=Evaluation, job_id=job.pk, worker="worker-1")
    assert claimed is not None
    rows = [(number, score, 9, 0.01) for number in range(1, job.episode_count + 1)]
    evaluation_succeed(evaluation=claimed, episodes=rows, runtime="", artifacts=EvaluationArtifacts(), log="Played.")


def test_baselines_are_agents_of_teachers_and_of_the_site(
    here: Course, baselines: list[Submission], sid: Member, environment: Environment
) -> None:
    factories.ready(factories.agent(sid.user, environment))
    staff = factories.agent(factories.user("olga", is_staff=True), environment)
    assert set(baselines_for(here)) == {staff, *(one.agent for one in baselines)}


@pytest.mark.parametrize("seen_by", [SeenBy.EVERYONE, SeenBy.MEMBERS])
def test_results_are_seen_by_the_student_and_the_staff_of_the_course_alone(
    task: Assignment, sid: Member, here: Course, seen_by: SeenBy
) -> None:
    Course.objects.filter(pk=here.pk).update(seen_by=seen_by)
    version(sid.user, task.environment, NOON)
    duel, _ = advance(task)
    factories.analysis(duel)
    factories.blunder(duel.player_1, duel)
    people: dict[str, User] = {role.value: member(here, role.value.lower(), role).user for role in Role}
    people |= {"mine": sid.user, "out": factories.user("out"), "staff": factories.user("sam", is_staff=True)}
    people["boss"] = factories.user("boss", is_staff=True, is_superuser=True)
    member(course("elsewhere"), "else")
    people["else"] = User.objects.get(username="else")
    for model in (Challenge, Duel, duel.analyses.model, duel.blunders.model):
        rows = model._default_manager.all()
        see = {name for name, person in people.items() if seen(rows, person).exists()}
        assert see == {"TEACHER", "TUTOR", "REFEREE", "mine", "boss"}, model
        assert {name for name, person in people.items() if listed(rows, person).exists()} == see
        assert hidden(rows, AnonymousUser()).count() == rows.count()
    # Streams read no accounts, so they send nothing of it.
    assert not duel_is_public(duel_get(duel.pk))
    assert set(agents_tutored(people["TUTOR"])) == {duel.player_1.agent} == set(agents_tutored(people["TEACHER"]))
    assert not agents_tutored(people["REFEREE"]).exists()
    sid.delete()
    gone = User.objects.get(pk=sid.user_id)
    assert not seen(Duel.objects.all(), gone).exists()


@pytest.mark.parametrize("end_it", ["delete", "ban", "disable"])
def test_an_agent_that_is_barred_or_deleted_scores_no_more(here: Course, sid: Member, end_it: str) -> None:
    pole = factories.task(episodes=4)
    task = Assignment(course=here, environment=pole, name="Pole", opens_at=NOON, due_at=DUE)
    assignment_save(assignment=task, wanted=[Wanted(None, 50, 4, 20.0)])
    made = version(sid.user, pole, NOON)
    advance(task)
    # Its owner does not cancel it as a phase of the version.
    assert open_phase(made) is None
    if end_it == "delete":
        submission_delete(submission=made)
    elif end_it == "ban":
        user_ban(user=sid.user, reason="Cheated.")
    else:
        agent_disable(agent=made.agent, reason="Cheated.")
    assert Evaluation.every.get(assignment=task).state == JobState.CANCELLED


def test_a_test_costs_no_quota_and_is_not_cancelled_by_its_student(task: Assignment, sid: Member) -> None:
    version(sid.user, task.environment, NOON)
    advance(task)
    assert challenges_counted(sid.user, [task.environment_id], now=timezone.now()) == {}
    with pytest.raises(Refused, match="part of an assignment"):
        challenge_cancel(
            challenge=Challenge.objects.get(), operator=Operator(AuditEntry.Channel.SITE, "sid", sid.user_id)
        )
