"""Reminds members of courses, a day before a deadline, of what they still lack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from django.db.models import Q

from core.assignments.marks import GoalState, assignment_marks
from core.courses.teams import students
from core.jobs.apart import apart
from core.links import page, tournament_address
from core.models import Course, Notice, NoticeKind, Registration, Role, Tournament, TournamentState, User
from core.notices.services import Message, notify_each

AHEAD = timedelta(days=1)


def deadlines_tell(*, now: datetime) -> int:
    """Remind people whose deadline is at most a day away, each once; return how many. Safe to repeat at any time."""
    count = 0
    for course in Course.objects.filter(members__role=Role.STUDENT).order_by("pk").distinct():
        with apart(f"Deadlines of {course}"):
            count += _tell([*_of_assignments(course, now), *_of_tournaments(course, now)])
    return count


def _tell(reminders: Iterable[Message]) -> int:
    """Send reminders that were not sent before."""
    wanted = {(one.user.pk, one.about): one for one in reminders}
    if not wanted:
        return 0
    sent = Notice.objects.filter(kind=NoticeKind.ANNOUNCEMENT, about__in={about for _, about in wanted})
    for key in sent.values_list("user", "about"):
        wanted.pop(key, None)
    return len(notify_each(kind=NoticeKind.ANNOUNCEMENT, messages=list(wanted.values())))


def _of_assignments(course: Course, now: datetime) -> Iterator[Message]:
    soon = (now, now + AHEAD)
    rows = course.assignments.filter(Q(due_at__range=soon) | Q(extensions__due_at__range=soon), opens_at__lte=now)
    for row in rows.distinct():
        for mark in assignment_marks(row):
            if not now < mark.due_at <= now + AHEAD or mark.is_full or mark.by_hand is not None:
                continue
            reached = sum(goal.state is GoalState.PASSED for goal in mark.goals)
            yield Message(
                mark.member.user,
                f"{row} of {course} is due on {course.moment(mark.due_at)}",
                f"You have reached {reached} of its {len(mark.goals)} baselines. Later versions are late.",
                page("assignment", course.slug, row.pk),
                f"due {row.pk} {mark.due_at:%Y-%m-%d}",
            )


def _of_tournaments(course: Course, now: datetime) -> Iterator[Message]:
    rows = course.tournaments.filter(
        state=TournamentState.PLANNED, registration_opens_at__lte=now, registration_closes_at__range=(now, now + AHEAD)
    )
    for row in rows.select_related("environment"):
        for user in _unregistered(row, course):
            assert row.registration_closes_at is not None
            yield Message(
                user,
                f"Registration for {row.title} closes on {row.moment(row.registration_closes_at)}",
                "You have not registered an agent.",
                tournament_address(row),
                f"closes {row.pk} {row.registration_closes_at:%Y-%m-%d}",
            )


def _unregistered(tournament: Tournament, course: Course) -> Iterable[User]:
    entered = Registration.objects.filter(tournament=tournament).values("agent__owner")
    rows = students(course).exclude(Q(user__in=entered) | Q(team__account__in=entered))
    return (one.user for one in rows.select_related("user"))
