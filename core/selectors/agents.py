"""Agents and submissions as pages show them."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, Prefetch, Subquery

from core.models import (
    Agent,
    Environment,
    Evaluation,
    JobState,
    Participant,
    Submission,
    TournamentState,
    User,
)
from core.selectors.board import board_rank
from core.selectors.duels import NotStored
from core.selectors.episodes import Episode, mean_so_far, practice_results
from core.selectors.phases import (
    OpenLog,
    Phase,
    Status,
    evaluation_of,
    is_moving,
    open_log,
    phases_of,
    status_of,
    submissions_with_phases,
    validation_of,
)

Viewer = User | AnonymousUser


@dataclass(frozen=True, slots=True)
class OwnAgent:
    """An agent in its owner's list: the newest version and how far that is."""

    agent: Agent
    number: int
    status: Status
    is_moving: bool


@dataclass(frozen=True, slots=True)
class Version:
    """A submission on its agent's page."""

    submission: Submission
    status: Status
    phases: tuple[Phase, ...]
    log: OpenLog | None
    places: tuple[Place, ...]
    is_moving: bool
    outlook: str = ""
    """When a version that may play, but has not yet, will do so: a sentence."""
    evaluation: Evaluation | None = None
    """Where submissions are ranked by scores: the newest of its latest build."""
    mean: float | None = None
    """Of the episodes of an evaluation that runs."""
    rank: int | None = None
    """On the board, while it is what its agent stands there with."""
    practice: tuple[Episode, ...] = ()
    """What the newest version scored on the public seeds."""


@dataclass(frozen=True, slots=True)
class Place:
    """A submission's rank in an edition, of how many."""

    participant: Participant
    size: int


@dataclass(frozen=True, slots=True)
class UserAgent:
    """An agent on its owner's public page, with its place in the last finished edition it took part in."""

    agent: Agent
    place: Place | None
    evaluation: Evaluation | None = None
    """Where agents are ranked by score: what it stands on the board with."""


def agent_source_visible(agent: Agent, viewer: Viewer) -> bool:
    """Source and logs: to the owner, staff, or everyone if the agent is public."""
    return agent.is_public or viewer.is_staff or agent.owner_id == viewer.pk


def agent_get(environment_slug: str, name: str) -> Agent:
    """An agent by environment and name, in any case. Raises Agent.DoesNotExist."""
    agents = Agent.objects.select_related("environment", "owner")
    return agents.get(environment__slug=environment_slug, name__iexact=name)


def own_agent_list(environment: Environment, owner: User) -> list[OwnAgent]:
    """A user's agents in an environment, by name."""
    newest = Submission.objects.filter(agent=OuterRef("agent")).order_by("-number").values("pk")[:1]
    submissions = submissions_with_phases().filter(
        agent__environment=environment, agent__owner=owner, pk=Subquery(newest)
    )
    return [
        OwnAgent(submission.agent, submission.number, status_of(submission), is_moving(submission))
        for submission in submissions.order_by("agent__name")
    ]


def version_list(agent: Agent, *, is_publishing: bool, number: int | None = None) -> list[Version]:
    """The versions of an agent, newest first; `number` asks for one alone.

    Of the newest one, and of every one whose page still moves, the log is at hand.
    """
    participations = Participant.objects.select_related("tournament").order_by("-tournament__edition")
    submissions = submissions_with_phases().filter(agent=agent).select_related("rating")
    if number is not None:
        submissions = submissions.filter(number=number)
    rows = list(submissions.prefetch_related(Prefetch("participations", participations)).order_by("-number"))
    sizes = _sizes({place.tournament_id for row in rows for place in row.participations.all()})
    phases = phases_of(rows, is_publishing=is_publishing)
    if agent.environment.is_scored:
        return [_scored_version(row, shown, is_newest=row is rows[0]) for row, shown in zip(rows, phases, strict=True)]
    latest = Submission.objects.valid().filter(agent=agent).order_by("-number").first()
    return [
        Version(
            submission=row,
            status=status_of(row),
            phases=shown,
            log=open_log(row) if is_moving(row) or row is rows[0] else None,
            places=tuple(Place(place, sizes[place.tournament_id]) for place in row.participations.all()),
            is_moving=is_moving(row),
            outlook=edition_outlook(agent.environment) if row == latest and not row.participations.all() else "",
        )
        for row, shown in zip(rows, phases, strict=True)
    ]


def user_agent_list(user: User, *, offset: int = 0, limit: int = 100) -> list[UserAgent]:
    """Some of a user's agents, by environment and name."""
    ordered = user.agents.select_related("environment").order_by("environment__name", "name")
    agents = list(ordered[offset : offset + limit])
    last: dict[int, Participant] = {}
    places = Participant.objects.filter(
        submission__agent__in=agents, tournament__state=TournamentState.FINISHED
    ).select_related("tournament", "submission")
    for row in places.order_by("tournament__edition"):
        last[row.submission.agent_id] = row
    sizes = _sizes({row.tournament_id for row in last.values()})
    shown = {agent_id: Place(row, sizes[row.tournament_id]) for agent_id, row in last.items()}
    current = Evaluation.objects.filter(agent__in=agents, is_current=True).select_related("submission")
    standing = {row.agent_id: row for row in current.defer("log", "episodes", "metrics")}
    return [UserAgent(agent, shown.get(agent.pk), standing.get(agent.pk)) for agent in agents]


def edition_expected(environment: Environment) -> bool:
    """Whether a valid submission still waits for its first edition, with somebody there to play against."""
    valid = Submission.objects.valid().filter(agent__environment=environment)
    newer = valid.filter(agent=OuterRef("agent"), number__gt=OuterRef("number"))
    fresh = valid.filter(~Exists(newer), participations=None)
    return environment.is_active and fresh.exists() and valid.values("agent").distinct().count() > 1


def edition_outlook(environment: Environment) -> str:
    """When a valid submission that has not played yet will do so."""
    if not environment.is_active:
        return "This environment is closed at the moment; no edition starts."
    running = environment.tournaments.filter(state=TournamentState.RUNNING).first()
    if running is not None:
        return f"It takes part in the next edition, which follows when edition {running.edition} is over."
    if Submission.objects.valid().filter(agent__environment=environment).values("agent").distinct().count() < 2:
        return "It takes part in the first edition that starts once a second agent is ready."
    return "It takes part in the next edition, which starts within minutes."


def _scored_version(row: Submission, phases: tuple[Phase, ...], *, is_newest: bool) -> Version:
    """A version in an environment that ranks by scores. Files are read for the newest alone."""
    validation, evaluation = validation_of(row), evaluation_of(row)
    practice: list[Episode] = []
    if is_newest and validation is not None and validation.is_over:
        with suppress(NotStored):
            practice = practice_results(validation)
    return Version(
        submission=row,
        status=status_of(row),
        phases=phases,
        log=open_log(row) if is_moving(row) or is_newest else None,
        places=(),
        is_moving=is_moving(row),
        evaluation=evaluation,
        mean=mean_so_far(evaluation) if evaluation is not None and evaluation.state == JobState.RUNNING else None,
        rank=board_rank(evaluation) if evaluation is not None and evaluation.is_current else None,
        practice=tuple(practice),
    )


def _sizes(tournament_ids: set[int]) -> Counter[int]:
    """Participants by tournament."""
    return Counter(Participant.objects.filter(tournament__in=tournament_ids).values_list("tournament_id", flat=True))
