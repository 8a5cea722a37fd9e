"""Tries: versions that have not worked yet, or never will. Their owner and organisers alone know of them."""

from __future__ import annotations

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from core.courses.sight import listed, seen
from core.courses.tutoring import agents_tutored
from core.lookup import ByKey
from core.models import Agent, Participant, Submission
from core.models.agent import has_worked
from core.people.rights import may
from core.tournaments.results import Viewer

RIGHT = "core.view_submission"


_PUBLIC_PLACES = Participant.objects.filter(submission=OuterRef("pk"), tournament__course=None)


def versions_visible(rows: QuerySet[Submission], viewer: Viewer) -> QuerySet[Submission]:
    """Return the versions among some that a viewer may know of: their own, and of other people those that have worked.

    Those that stand in a tournament's table, e.g. without a score, are known to all who see the tournament. Organisers
    who may view versions see all of them.
    """
    if may(viewer, RIGHT):
        return rows
    own = Q(agent__owner=viewer.pk) | Q(agent__in=agents_tutored(viewer))
    return seen(rows.filter(_known(viewer) | own), viewer)


def _known(viewer: Viewer) -> Q:
    """Return the condition for versions that have worked or stand in the table of a tournament that a viewer sees."""
    return has_worked() | Q(Exists(seen(Participant.objects.filter(submission=OuterRef("pk")), viewer)))


def agents_visible(rows: QuerySet[Agent], viewer: Viewer) -> QuerySet[Agent]:
    """Return the agents among some that a viewer may know of: those with a version that they may know of.

    An owner sees their agents also without any version.
    """
    if may(viewer, RIGHT):
        return rows
    worked = Submission.objects.filter(_known(viewer), agent=OuterRef("pk"))
    own = Q(owner=viewer.pk) | Q(pk__in=agents_tutored(viewer))
    return seen(rows.filter(Q(Exists(worked)) | own), viewer)


VERSIONS = ByKey(
    lambda agent: (
        Submission.objects.filter(agent=agent)
        .order_by("-number")
        .values_list("pk", "number", ExpressionWrapper(has_worked() | Q(Exists(_PUBLIC_PLACES)), BooleanField()))
    )
)
"""The versions of an agent, newest first, each with its number and whether everyone may know of it outside courses."""


def versions_of(agent: Agent, viewer: Viewer) -> list[tuple[int, int]]:
    """Return the keys and numbers of the versions of an agent that a viewer may know of, newest first."""
    rows = VERSIONS(agent.pk)
    sees_all = may(viewer, RIGHT) or (agent.environment.course_id is None and agent.owner_id == viewer.pk)
    if sees_all or (agent.environment.course_id is None and all(is_known for *_, is_known in rows)):
        return [(key, number) for key, number, _ in rows]
    return list(versions_visible(agent.submissions.order_by("-number"), viewer).values_list("pk", "number"))


WORKED = ByKey(
    lambda agent: (
        Submission.objects.filter(has_worked(), agent=agent, agent__environment__course=None)
        .order_by()
        .values_list("pk")[:1]
    )
)
"""A version that has worked of an agent outside courses: everyone may know of it."""


def agent_visible(agent: Agent, viewer: Viewer) -> bool:
    """Return whether a viewer may know of an agent."""
    is_known = agent.owner_id == viewer.pk or bool(WORKED(agent.pk))
    return is_known or agents_visible(Agent.objects.filter(pk=agent.pk), viewer).exists()


def agents_listed(rows: QuerySet[Agent], viewer: Viewer) -> QuerySet[Agent]:
    """Return the agents among some that lists show to a viewer: without resting ones of other people."""
    found = listed(agents_visible(rows, viewer), viewer)
    return found if may(viewer, RIGHT) else found.filter(Q(is_resting=False) | Q(owner=viewer.pk))


def version_visible(version: Submission, viewer: Viewer) -> bool:
    """Return whether a viewer may know of a version."""
    return versions_visible(Submission.objects.filter(pk=version.pk), viewer).exists()
