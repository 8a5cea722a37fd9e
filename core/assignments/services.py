"""Assignments: made once or for a whole term, changed, copied; deadlines of single people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Q, QuerySet

from core.courses.organisers import agents_of_organisers
from core.courses.repeats import next_name, weeks_later
from core.errors import Refused
from core.evaluations.seeds import seeds_for_assignment
from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.links import page
from core.models import (
    Agent,
    Assignment,
    Baseline,
    Course,
    Environment,
    EnvironmentKind,
    Evaluation,
    Extension,
    MarkByHand,
    Member,
    NoticeKind,
    User,
)
from core.notices.services import Message, notify_each

NAME_LENGTH: int = Assignment._meta.get_field("name").max_length or 0
MOST_WEEKS = 30
COPIED = ("environment", "course", "about", "late_days", "late_percent", "weight", "has_board")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A baseline as a teacher wants it: an agent, or where agents play alone a mean score."""

    agent: Agent | None
    percent: int
    marks: int
    score: float | None = None


def environments_for(course: Course, assignment: Assignment | None = None) -> QuerySet[Environment]:
    """Return the environments in which a course can have assignments, and that of an assignment whatever it is."""
    rows = Environment.objects.exclude(kind=EnvironmentKind.APP)
    can = Q(Q(course=None) | Q(course=course), seats__lte=2, is_active=True)
    return rows.filter(can | Q(pk=assignment and assignment.environment_id)).order_by("name")


def baselines_for(course: Course, assignment: Assignment | None = None) -> QuerySet[Agent]:
    """Return the agents that can be baselines of a course: those of its teachers and of the site.

    assignment: whose baselines are among them, even if they play no more.
    """
    can = agents_of_organisers(course).filter(environment__in=environments_for(course).order_by())
    has = [] if assignment is None else list(assignment.baselines.values_list("agent", flat=True))
    rows = Agent.objects.filter(Q(pk__in=can.values("pk")) | Q(pk__in=has))
    return rows.select_related("environment", "owner")


def assignment_save(*, assignment: Assignment, wanted: Sequence[Wanted], weeks: int = 1) -> list[Assignment]:
    """Save an assignment with its baselines, and those of the weeks after it; return all of them.

    weeks: how many assignments, one a week. Raises Refused, naming the field.
    """
    _check(assignment, wanted, weeks)
    with transaction.atomic():
        assignment.save()
        _baselines_set(assignment, wanted)
        later = [_later(assignment, step, wanted) for step in range(1, weeks)]
        task_request("tournament", TOURNAMENT_TASK, assignment.environment_id)
    return [assignment, *later]


def assignment_copy(*, assignment: Assignment) -> Assignment:
    """Make an assignment once more, a week later by the clocks of its course, without its extensions."""
    rows = assignment.baselines.select_related("agent")
    wanted = [Wanted(one.agent, one.percent, one.marks, one.score) for one in rows]
    with transaction.atomic():
        return _later(assignment, 1, wanted)


def assignment_delete(*, assignment: Assignment) -> None:
    """Delete an assignment for which no version has played. Raises Refused."""
    with transaction.atomic():
        Assignment.objects.select_for_update(no_key=True).get(pk=assignment.pk)
        if _has_played(assignment):
            raise Refused("Versions have played for it already. With weight 0 it does not count.")
        if assignment.marks_by_hand.exists():
            raise Refused("Students have marks by hand in it. With weight 0 it does not count.")
        assignment.delete()


def extend(*, assignment: Assignment, members: Iterable[Member], due_at: datetime) -> int:
    """Give people, and their teams, a later deadline in place of the one that they have; return how many people.

    A time up to the deadline of all ends extensions. Raises Refused.
    """
    people = list(members)
    if not people:
        raise Refused("Choose at least one person.")
    teams = Member.objects.filter(user__as_team__in=[one.team_id for one in people if one.team_id])
    extended = {one.pk: one for one in (*people, *teams)}.values()
    rows = [Extension(assignment=assignment, member=one, due_at=due_at) for one in extended]
    with transaction.atomic():
        if due_at <= assignment.due_at:
            assignment.extensions.filter(member__in=extended).delete()
        else:
            Extension.objects.bulk_create(
                rows, update_conflicts=True, update_fields=["due_at"], unique_fields=["assignment", "member"]
            )
        task_request("tournament", TOURNAMENT_TASK, assignment.environment_id)
    return len(people)


def mark_by_hand(*, assignment: Assignment, user: User, marks: Decimal | None, reason: str, by: User) -> str:
    """Give a person marks in place of those that follow from results, with a notice; return what was done.

    marks: None takes marks by hand back. Raises Refused, naming the field.
    """
    if not reason.strip():
        raise Refused("Give a reason, which the student reads.", field="reason")
    if marks is not None and not 0 <= marks <= assignment.total:
        raise Refused(f"{assignment} has 0 to {assignment.total} marks.", field="marks")
    rows = MarkByHand.objects.filter(assignment=assignment, user=user)
    with transaction.atomic():
        if marks is not None:
            values = {"marks": marks, "reason": reason.strip(), "set_by": by}
            rows.update_or_create(assignment=assignment, user=user, defaults=values)
            words = f"{marks.normalize():f} of {assignment.total} marks, changed by hand"
        elif rows.delete()[0]:
            words = "the marks of the results again"
        else:
            raise Refused("There are no marks by hand to take back.")
        title, address = f"You have {words} in {assignment}", page("assignment", assignment.course.slug, assignment.pk)
        message = Message(user, title, f"Reason: {reason.strip()}", address, about=f"marks {assignment.pk}")
        notify_each(kind=NoticeKind.ANNOUNCEMENT, messages=[message])
    return f"{user} has {words} in {assignment}."


def _later(assignment: Assignment, step: int, wanted: Sequence[Wanted]) -> Assignment:
    zone = assignment.course.time_zone
    copy = Assignment(
        name=next_name(assignment.name, NAME_LENGTH, step),
        opens_at=weeks_later(assignment.opens_at, zone, step),
        due_at=weeks_later(assignment.due_at, zone, step),
        **{name: getattr(assignment, name) for name in COPIED},
    )
    copy.save()
    _baselines_set(copy, wanted)
    return copy


def _has_played(assignment: Assignment) -> bool:
    return assignment.challenges.exists() or Evaluation.every.filter(assignment=assignment).exists()


def _check(assignment: Assignment, wanted: Sequence[Wanted], weeks: int) -> None:
    if not wanted:
        raise Refused("Choose at least one baseline, or a score where agents play alone.", field="agent_1")
    if not 1 <= weeks <= MOST_WEEKS:
        raise Refused(f"A term has 1 to {MOST_WEEKS} assignments.", field="weeks")
    before = Assignment.objects.filter(pk=assignment.pk).exclude(environment=assignment.environment)
    if before.exists() and _has_played(assignment):
        raise Refused("Versions have played for it already, so its environment stays.", field="environment")
    for place, one in enumerate(wanted, start=1):
        if one.agent is not None and one.agent.environment_id != assignment.environment_id:
            raise Refused(f"{one.agent} plays {one.agent.environment}.", field=f"agent_{place}")
        if (one.score is not None) != assignment.environment.is_scored or (one.agent is None) == (one.score is None):
            needed = "a score, no agent" if assignment.environment.is_scored else "an agent, no score"
            raise Refused(f"{assignment.environment} needs {needed}.", field=f"agent_{place}")
    if assignment.has_board and not assignment.environment.is_scored:
        raise Refused("Only where agents play alone there are scores for a board.", field="has_board")
    if len({(one.agent, one.score) for one in wanted}) < len(wanted):
        raise Refused("Choose each baseline once.", field="agent_1")
    by_hand = (
        max(assignment.marks_by_hand.values_list("marks", flat=True), default=Decimal()) if assignment.pk else Decimal()
    )
    if by_hand > (most := sum(one.marks for one in wanted)):
        raise Refused(f"A student has {by_hand.normalize():f} marks by hand, more than these {most}.", field="marks_1")


def _baselines_set(assignment: Assignment, wanted: Sequence[Wanted]) -> None:
    """Give an assignment these baselines; results at one that stays the same count on."""
    rows = [
        Baseline(assignment=assignment, agent=one.agent, score=one.score, percent=one.percent, marks=one.marks)
        for one in wanted
    ]
    assignment.baselines.all().delete()
    Baseline.objects.bulk_create(rows)
    if assignment.environment.is_scored:
        seeds_for_assignment(assignment)
