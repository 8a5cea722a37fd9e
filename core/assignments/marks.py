"""Marks of assignments: a pure function of results at their baselines, deadlines and times of upload.

A baseline counts as reached from the first version that reaches it, by the time of its upload. A later version never
takes marks away. Marks that a teacher sets by hand count in place of these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from itertools import chain
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Q, QuerySet

from core.courses.teams import stays_of, students, team_at
from core.duels.goals import TESTED, goal_percent, goal_reached
from core.jobs.states import OPEN
from core.models import (
    Assignment,
    Baseline,
    Challenge,
    Course,
    Duel,
    Evaluation,
    JobFault,
    JobState,
    MarkByHand,
    Member,
    Submission,
    User,
)
from core.times import zone_of

DAY = timedelta(days=1)


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


class TriedVersion(NamedTuple):
    """The columns of a version that marks follow from; a large course has too many for whole rows."""

    pk: int
    agent: str
    number: int
    public_id: UUID
    created_at: datetime
    owner: int
    is_disabled: bool

    def __str__(self) -> str:
        return f"{self.agent} v{self.number}"


@dataclass(frozen=True, slots=True)
class Try:
    """A version at baselines, in a duel or alone. duel: its key; None alone.

    rival, percent: the agent that the duel is against, and the share to reach. is_reached: None before the end, after a
    fault of the arena, and where a score is compared with that of a baseline. score_low, score_high: its 95% interval.
    """

    version: TriedVersion
    state: str
    is_reached: bool | None
    duel: int | None = None
    rival: int | None = None
    percent: int | None = None
    score: float | None = None
    score_low: float | None = None
    score_high: float | None = None

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    def is_at(self, baseline: Baseline) -> bool:
        """Return whether it is at a baseline, not at another one or for another share."""
        if baseline.score is not None:
            return self.duel is None
        return self.rival == baseline.agent_id and self.percent == baseline.percent

    def reaches(self, baseline: Baseline) -> bool | None:
        """Return whether a baseline that it is at is reached; None as of is_reached."""
        return self.is_reached if self.score is None else self.score >= (baseline.score or 0)


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
    """The marks of a person in an assignment. by_hand: those that a teacher has set in place of the goals'."""

    assignment: Assignment
    member: Member
    due_at: datetime
    is_extended: bool
    goals: tuple[Goal, ...]
    by_hand: MarkByHand | None = None

    @property
    def marks(self) -> Decimal:
        return self.earned if self.by_hand is None else self.by_hand.marks

    @property
    def earned(self) -> Decimal:
        """The marks without those by hand."""
        return sum((goal.marks for goal in self.goals), Decimal())

    @property
    def most(self) -> int:
        """The most marks of its assignment."""
        return sum(goal.baseline.marks for goal in self.goals)

    @property
    def best(self) -> Try | None:
        """The best score alone of the versions that count, the earliest of equal ones; None without one.

        Agents that are disabled have none.
        """
        most, tries = self.assignment.late_days, [one for goal in self.goals[:1] for one in goal.tries]
        scored = (one for one in tries if one.score is not None and not one.version.is_disabled)
        counted = (one for one in scored if self.days_of(one) <= most)
        return max(counted, key=lambda one: one.score or 0.0, default=None)

    def days_of(self, one: Try) -> int:
        """Return how many days late the version of a try is."""
        return days_of(one.version, self.assignment, self.due_at)

    @property
    def is_full(self) -> bool:
        """Return whether all baselines are reached in time."""
        return bool(self.goals) and self.earned == self.most


@dataclass(frozen=True, slots=True)
class CourseMarks:
    """All marks of a person in a course, in the order of its assignments."""

    member: Member
    marks: tuple[Mark, ...]

    def percent(self, now: datetime) -> Decimal | None:
        """Return the weighted mean over the assignments that have opened, in percent; None without any.

        Where a course counts the best ones, those with the largest share of their marks count, of equals the heavier.
        """
        opened = [mark for mark in self.marks if mark.assignment.opens_at <= now and mark.most]
        shares = [(mark.marks / mark.most, mark.assignment.weight) for mark in opened if mark.assignment.weight]
        if not shares:
            return None
        counted = sorted(shares, reverse=True)[: opened[0].assignment.course.counts_best or None]
        total = sum((share * weight for share, weight in counted), Decimal())
        return round(100 * total / sum(weight for _, weight in counted), 2)


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


def students_of(course: Course) -> QuerySet[Member]:
    """Return the students of a course, in the order of its marks; their teams have no marks of their own."""
    return students(course).select_related("user", "team__account").order_by("user__team", "user__username")


def membership(course: Course, person: User | None) -> QuerySet[Member]:
    """Return the person as a member of a course: one row or none."""
    return course.members.filter(user=person).select_related("user", "team__account")


def course_marks(
    course: Course, *, only: Assignment | None = None, people: Iterable[Member] | None = None
) -> list[CourseMarks]:
    """Return the marks of all students of a course, or of some members. only: of this assignment alone.

    What a person's team has reached counts for them, if they were in it at the deadline, or when a late version was
    uploaded, and its later deadline. The number of queries does not depend on the number of people and assignments.
    """
    rows = course.assignments.select_related("environment", "course").prefetch_related(
        "baselines__agent", "extensions__member"
    )
    tasks = [(one, tuple(one.baselines.all())) for one in (rows if only is None else rows.filter(pk=only.pk))]
    members = list(students_of(course) if people is None else people)
    of = Q(assignment__in=[one for one, _ in tasks])
    stays = stays_of(course, members)
    owners = {one.user_id: {account for _, account in stays[one.user_id] if account} for one in members}
    found = _tries(of, None if people is None else {*owners, *chain.from_iterable(owners.values())})
    extensions = (row for one, _ in tasks for row in one.extensions.all())
    later = {(row.assignment_id, row.member.user_id): row.due_at for row in extensions if row.member is not None}
    by_hand = {(row.assignment_id, row.user_id): row for row in MarkByHand.objects.filter(of)}

    def mark(member: Member, task: Assignment, baselines: Sequence[Baseline]) -> Mark:
        own, over_time = member.user_id, stays[member.user_id]
        ends = (later.get((task.pk, owner)) for owner in (own, team_at(over_time, task.due_at)) if owner)
        due_at = max([task.due_at, *filter(None, ends)])
        tries = list(found[task.pk, own])
        for team in owners[own]:
            of_team = found[task.pk, team]
            tries += (one for one in of_team if team_at(over_time, max(one.version.created_at, due_at)) == team)
        tries.sort(key=lambda one: one.version.created_at)
        goals = tuple(_goal(task, one, due_at, tries) for one in baselines)
        return Mark(task, member, due_at, due_at > task.due_at, goals, by_hand.get((task.pk, own)))

    return [CourseMarks(one, tuple(mark(one, task, baselines) for task, baselines in tasks)) for one in members]


def assignment_marks(assignment: Assignment, *, people: Iterable[Member] | None = None) -> list[Mark]:
    """Return the marks of all students in an assignment, or of some members."""
    lines = course_marks(assignment.course, only=assignment, people=people)
    return [mark for line in lines for mark in line.marks]


def _tries(of: Q, people: Collection[int] | None) -> dict[tuple[int | None, int], list[Try]]:
    """Return the tries in some assignments by assignment and person, oldest first. people: of these alone."""
    challenges, evaluations = Challenge.objects.filter(of), Evaluation.every.filter(of).order_by("pk")
    if people is not None:
        challenges, evaluations = challenges.filter(user__in=people), evaluations.filter(agent__owner__in=people)
    found: dict[tuple[int | None, int], list[Try]] = defaultdict(list)
    asked = ("challenge__assignment", "challenge__user", "player_2__agent", *TESTED)
    duels = Duel.objects.filter(challenge__in=challenges.order_by()).order_by("pk")
    for row in duels.values_list("pk", *asked, *_columns("player_1"), named=True):
        version, percent = TriedVersion(*row[-len(TriedVersion._fields) :]), goal_percent(row)
        one = Try(version, row.state, goal_reached(row), row.pk, row.player_2__agent, percent)
        found[row.challenge__assignment, row.challenge__user].append(one)
    scores = ("score", "score_low", "score_high")
    columns = ("assignment", "agent__owner", "state", "fault", *scores, *_columns("submission"))
    for assignment, owner, state, fault, score, low, high, *rest in evaluations.values_list(*columns):
        is_own_fault = state == JobState.FAILED and fault == JobFault.PLAYER
        scored = score if state == JobState.SUCCEEDED else None
        is_reached = False if is_own_fault else None
        one = Try(TriedVersion(*rest), state, is_reached, score=scored, score_low=low, score_high=high)
        found[assignment, owner].append(one)
    return found


def _columns(version: str) -> tuple[str, ...]:
    """Return the columns of a TriedVersion at a path."""
    names = ("agent__name", "number", "public_id", "created_at", "agent__owner", "agent__is_disabled")
    return (f"{version}_id", *(f"{version}__{one}" for one in names))


def _goal(assignment: Assignment, baseline: Baseline, due_at: datetime, tries: Iterable[Try]) -> Goal:
    tries = tuple(one for one in tries if one.is_at(baseline))
    best: tuple[Decimal, int, Try] | None = None
    for one in tries:
        if one.reaches(baseline):
            days = days_of(one.version, assignment, due_at)
            worth = marks_for(assignment, baseline, days)
            if days <= assignment.late_days and (best is None or worth > best[0]):
                best = worth, days, one
    if best is not None:
        return Goal(baseline, GoalState.PASSED, tries, best[2], best[1], best[0])
    latest = next((one for one in reversed(tries) if one.reaches(baseline) is False), None)
    playing = next((one for one in tries if one.is_open), None)
    state = GoalState.PLAYING if playing else GoalState.FAILED if latest else GoalState.NOTHING
    return Goal(baseline, state, tries, playing or latest, 0, Decimal())


def days_of(version: Submission | TriedVersion, assignment: Assignment, due_at: datetime) -> int:
    """Return how many days late a version was uploaded. due_at: the deadline of its owner."""
    return late_days(uploaded_at=version.created_at, due_at=due_at, zone=zone_of(assignment.course.time_zone))
