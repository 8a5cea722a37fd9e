"""Agents and submissions as pages show them."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import Prefetch, QuerySet

from core.models import Agent, Environment, Participant, Submission, TournamentState, User

Viewer = User | AnonymousUser


def agent_source_visible(agent: Agent, viewer: Viewer) -> bool:
    """Source and logs: to the owner, staff, or everyone if the agent is public."""
    return agent.is_public or viewer.is_staff or agent.owner_id == viewer.pk


def submissions_with_phases() -> QuerySet[Submission]:
    """Submissions with their jobs at hand."""
    return Submission.objects.prefetch_related("builds", "validations", "publications")


def agent_list(environment: Environment, owner: User) -> QuerySet[Agent]:
    """A user's agents in an environment, with their submissions, newest first."""
    submissions = submissions_with_phases().order_by("-number")
    return environment.agents.filter(owner=owner).prefetch_related(Prefetch("submissions", submissions))


def agent_get(environment_slug: str, name: str) -> Agent:
    """An agent by environment and name. Raises Agent.DoesNotExist."""
    return Agent.objects.select_related("environment", "owner").get(
        environment__slug=environment_slug, name__iexact=name
    )


def submission_list(agent: Agent) -> QuerySet[Submission]:
    """All submissions of an agent, newest first, with phases and the editions they took part in."""
    participations = Participant.objects.select_related("tournament__environment").order_by("-tournament__edition")
    return (
        submissions_with_phases()
        .filter(agent=agent)
        .select_related("rating")
        .prefetch_related(Prefetch("participations", participations))
        .order_by("-number")
    )


def user_agent_list(user: User) -> list[tuple[Agent, Participant | None, int]]:
    """A user's agents with their last place in a finished edition and the number of participants there."""
    agents = list(user.agents.select_related("environment").order_by("environment__name", "name"))
    last: dict[int, Participant] = {}
    places = Participant.objects.filter(
        submission__agent__in=agents, tournament__state=TournamentState.FINISHED
    ).select_related("tournament__environment", "submission")
    for place in places.order_by("tournament__edition"):
        last[place.submission.agent_id] = place
    sizes: dict[int, int] = {}
    for tournament_id in Participant.objects.filter(
        tournament__in={place.tournament_id for place in last.values()}
    ).values_list("tournament_id", flat=True):
        sizes[tournament_id] = sizes.get(tournament_id, 0) + 1
    rows = []
    for agent in agents:
        place = last.get(agent.pk)
        rows.append((agent, place, sizes.get(place.tournament_id, 0) if place else 0))
    return rows
