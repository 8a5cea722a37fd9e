"""Marks of assignments: a pure function of results at their baselines, deadlines and times of upload.

A baseline counts as reached from the first version that reaches it, by the time of its upload. A later version never
takes marks away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from zoneinfo import ZoneInfo

from core.duels.goals import goal_percent, goal_reached
from core.jobs.states import OPEN
from core.models import (
    Assignment,
    Baseline,
    Course,
    Duel,
    Evaluation,
    JobFault,
    JobState,
    Member,
    Role,
    Submission,
    User,
)
from core.times import zone_of

DAY = timedelta(days=1)
COUNTED = (
    "state",
    "test",
    "test_result",
    "matches_done",
    "player_1_wins",
    "player_2_errors",
    "draws",
    "challenge__assignment",
    "challenge__user",
    "player_1__public_id",
    "player_1__created_at",
    "player_2__agent",
)
"""The columns of a duel that the marks of all follow from; the page of one person shows more."""


class GoalState(StrEnum):
    """The result of a person against a baseline so far, as pages name it."""

    PASSED = "passed"
    PLAYING = "being played"
    FAILED = "not reached"
    NOTHING = "nothing yet"

    @property
    def tone(self) -> str:
        """The tone of its label on pages."""
        return {"passed": "good", "being played": "busy", "not reached": "bad"}.get(self, "calm")


@dataclass(frozen=True, slots=True)
class Try:
    """A version at a baseline: in a duel, or alone for a score. is_reached: None before the end, and after a fault of
    the arena."""

    job: Duel | Evaluation
    version: Submission
    is_reached: bool | None

    @property
    def is_open(self) -> bool:
        return self.job.state in OPEN

    @property
    def duel(self) -> Duel | None:
        return self.job if isinstance(self.job, Duel) else None


@dataclass(frozen=True, slots=True)
class Goal:
    """A baseline as one person has reached it. tries: oldest first.

    decisive: of PASSED the one that counts, else the latest; None without one. late_days: how late its version was
    uploaded.
    """

    baseline: Baseline
    state: GoalState
    tries: tuple[Try, ...]
    decisive: Try | None
    late_days: int
    marks: Decimal


@dataclass(frozen=True, slots=True)
class Mark:
    """The marks of a person in an assignment."""

    assignment: Assignment
    member: Member
    due_at: datetime
    is_extended: bool
    goals: tuple[Goal, ...]

    @property
    def marks(self) -> Decimal:
        return sum((goal.marks for goal in self.goals), Decimal())

    @property
    def is_full(self) -> bool:
        """Return whether all baselines are reached in time."""
        return bool(self.goals) and self.marks == self.assignment.total


@dataclass(frozen=True, slots=True)
class CourseMarks:
    """All marks of a person in a course, in the order of its assignments."""

    member: Member
    marks: tuple[Mark, ...]

    def percent(self, now: datetime) -> Decimal | None:
        """Return the weighted mean over the assignments that have opened, in percent; None without any."""
        counted = [mark for mark in self.marks if mark.assignment.opens_at <= now and mark.assignment.total]
        weights = sum(mark.assignment.weight for mark in counted)
        if not weights:
            return None
        shares = (mark.assignment.weight * mark.marks / mark.assignment.total for mark in counted)
        return round(100 * sum(shares, Decimal()) / weights, 2)


def late_days(*, uploaded_at: datetime, due_at: datetime, zone: ZoneInfo) -> int:
    """Return how many days after a deadline have begun at an upload; each ends at the same time by the clocks."""
    if uploaded_at <= due_at:
        return 0
    late = uploaded_at.astimezone(zone).replace(tzinfo=None) - due_at.astimezone(zone).replace(tzinfo=None)
    return max(1, -(-late // DAY))


def marks_for(assignment: Assignment, baseline: Baseline, days: int) -> Decimal:
    """Return the marks for a baseline that a version reached which was so many days late."""
    if days > assignment.late_days:
        return Decimal()
    return Decimal(baseline.marks * max(0, 100 - assignment.late_percent * days)) / 100


def course_marks(course: Course, *, only: Assignment | None = None, person: User | None = None) -> list[CourseMarks]:
    """Return the marks of all students of a course, or of one person. only: of this assignment alone.

    The number of queries does not depend on the number of people and assignments.
    """
    assignments = list(_assignments(course, only))
    members = course.members.filter(role=Role.STUDENT) if person is None else course.members.filter(user=person)
    jobs: dict[tuple[int | None, int], list[Duel | Evaluation]] = defaultdict(list)
    for duel in _duels(assignments, person):
        assert duel.challenge is not None
        jobs[duel.challenge.assignment_id, duel.challenge.user_id].append(duel)
    for evaluation in _evaluations(assignments, person):
        jobs[evaluation.assignment_id, evaluation.agent.owner_id].append(evaluation)
    later = {(one.pk, row.member_id): row.due_at for one in assignments for row in one.extensions.all()}
    return [
        CourseMarks(
            member,
            tuple(
                _mark(one, member, later.get((one.pk, member.pk)), jobs[one.pk, member.user_id]) for one in assignments
            ),
        )
        for member in members.select_related("user").order_by("user__team", "user__username")
    ]


def assignment_marks(assignment: Assignment, *, person: User | None = None) -> list[Mark]:
    """Return the marks of all students in an assignment, or of one person."""
    lines = course_marks(assignment.course, only=assignment, person=person)
    return [mark for line in lines for mark in line.marks]


def _assignments(course: Course, only: Assignment | None) -> Iterator[Assignment]:
    rows = course.assignments.select_related("environment", "course").prefetch_related("baselines__agent", "extensions")
    yield from rows if only is None else rows.filter(pk=only.pk)


def _duels(assignments: Sequence[Assignment], person: User | None) -> Iterator[Duel]:
    rows = Duel.objects.filter(challenge__assignment__in=assignments).order_by("pk")
    if person is None:
        yield from rows.select_related("challenge", "player_1", "player_2").only(*COUNTED)
    else:
        mine = rows.filter(challenge__user=person).defer("log", "history")
        yield from mine.select_related("challenge", "player_1__agent", "player_2__agent")


def _evaluations(assignments: Sequence[Assignment], person: User | None) -> Iterator[Evaluation]:
    rows = Evaluation.every.filter(assignment__in=assignments).order_by("pk").defer("log", "history", "episodes")
    mine = rows if person is None else rows.filter(agent__owner=person)
    yield from mine.select_related("agent", "submission__agent")


def _mark(assignment: Assignment, member: Member, later: datetime | None, jobs: Sequence[Duel | Evaluation]) -> Mark:
    due_at = assignment.due_at if later is None else max(later, assignment.due_at)
    goals = tuple(_goal(assignment, one, due_at, jobs) for one in assignment.baselines.all())
    return Mark(assignment, member, due_at, due_at > assignment.due_at, goals)


def _try(baseline: Baseline, job: Duel | Evaluation) -> Try | None:
    """Return the try of a baseline that a job is; None for one at another baseline, or for another share."""
    if isinstance(job, Duel):
        is_of = job.player_2.agent_id == baseline.agent_id and goal_percent(job) == baseline.percent
        return Try(job, job.player_1, goal_reached(job)) if is_of else None
    if baseline.score is None:
        return None
    is_reached: bool | None = None
    if job.state == JobState.SUCCEEDED and job.score is not None:
        is_reached = job.score >= baseline.score
    elif job.state == JobState.FAILED and job.fault == JobFault.PLAYER:
        is_reached = False
    return Try(job, job.submission, is_reached)


def _goal(assignment: Assignment, baseline: Baseline, due_at: datetime, jobs: Sequence[Duel | Evaluation]) -> Goal:
    tries = tuple(found for job in jobs if (found := _try(baseline, job)) is not None)
    best: tuple[Decimal, int, Try] | None = None
    for one in tries:
        days = days_of(one.version, assignment, due_at)
        worth = marks_for(assignment, baseline, days)
        if one.is_reached and days <= assignment.late_days and (best is None or worth > best[0]):
            best = worth, days, one
    if best is not None:
        return Goal(baseline, GoalState.PASSED, tries, best[2], best[1], best[0])
    latest = next((one for one in reversed(tries) if one.is_reached is False), None)
    playing = next((one for one in tries if one.is_open), None)
    state = GoalState.PLAYING if playing else GoalState.FAILED if latest else GoalState.NOTHING
    return Goal(baseline, state, tries, playing or latest, 0, Decimal())


def days_of(version: Submission, assignment: Assignment, due_at: datetime) -> int:
    """Return how many days late a version was uploaded. due_at: the deadline of its owner."""
    return late_days(uploaded_at=version.created_at, due_at=due_at, zone=zone_of(assignment.course.time_zone))
