"""The agents whose sources and logs teachers and tutors of a course see."""

from __future__ import annotations

from django.db.models import F, Q, QuerySet

from core.courses.sight import Viewer
from core.models import Agent, Challenge, Participant, Registration
from core.people.rights import courses_with

SOURCES = "core.view_submission"
"""The right of teachers and tutors to see sources and logs, and people's own names beside their user names."""


def agents_tutored(viewer: Viewer) -> QuerySet[Agent]:
    """Return the agents of members that live in an environment of the course, or play in a tournament or an assignment
    of it."""
    courses = courses_with(viewer, SOURCES)
    rows = Agent.objects.order_by()
    if not courses:
        # No query at all.
        return rows.none()
    here = rows.filter(environment__course__in=courses, environment__course__members__user=F("owner"))
    entered = Registration.objects.filter(
        tournament__course__in=courses, tournament__course__members__user=F("agent__owner")
    )
    played = Participant.objects.filter(
        is_baseline=False,
        tournament__course__in=courses,
        tournament__course__members__user=F("submission__agent__owner"),
    )
    tested = Challenge.objects.filter(
        assignment__course__in=courses, assignment__course__members__user=F("submission__agent__owner")
    )
    keys = (
        here.values("pk"),
        entered.order_by().values("agent"),
        played.order_by().values("submission__agent"),
        tested.order_by().values("submission__agent"),
    )
    return rows.filter(Q(*(("pk__in", found) for found in keys), _connector=Q.OR))
