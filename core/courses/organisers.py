"""The agents that organisers can let play as baselines."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from core.models import Agent, Course, Role


def agents_of_organisers(course: Course | None) -> QuerySet[Agent]:
    """Return the agents of the site and of the teachers of a course that may play."""
    owners = Q(owner__is_staff=True) | Q(owner__is_quota_exempt=True)
    if course is not None:
        owners |= Q(owner__in=course.members.filter(role=Role.TEACHER).values("user"))
    return Agent.objects.filter(owners, is_disabled=False, is_resting=False).order_by("name")
