"""The leaderboard of an environment with duels: the official ratings of all agents that may play.

`Rating.rank` is the rank of an agent; every page, file, mail and program reads it here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery

from core.lookup import Lookup, Objects
from core.models import Agent, Environment, Rating, RatingPoint, Submission
from core.ratings.tables import TableFilter, table_of

DAY = timedelta(days=1)
UNRATED_SHOWN = 20
"""The number of agents without a rating that a page names."""
_SHOWN = (
    *(field.name for field in Rating._meta.concrete_fields),
    *(f"submission__{name}" for name in ("number", "public_id", "created_at")),
    *(f"submission__agent__{name}" for name in ("name", "is_disabled", "quarantined_at")),
    *(f"submission__agent__owner__{name}" for name in ("username", "team", "is_active")),
)


@dataclass(frozen=True, slots=True)
class Standing:
    """The rank of an agent among `size` ranked ones, and the rating behind it."""

    rating: Rating
    rank: int
    size: int


def ranked(environment: Environment | OuterRef) -> QuerySet[Rating]:
    """Return the ratings that have a rank, best first."""
    rows = Rating.objects.filter(submission__agent__environment=environment, rank__isnull=False)
    return rows.order_by("rank", "submission__agent__name")


def board_rows(environment: Environment, wanted: TableFilter) -> QuerySet[Rating]:
    """Return the rows of the leaderboard that match a filter. There may be hundreds: only shown columns are read."""
    rows = ranked(environment).select_related("submission__agent__owner").only(*_SHOWN)
    return table_of(rows, wanted, rating="value", matches="match_count")


RANKED = Objects(
    lambda agents: Rating.objects.filter(submission__agent__in=agents, rank__isnull=False).select_related(
        "submission__agent"
    )
)


def standings_of(agents: Iterable[Agent]) -> dict[int, Standing]:
    """Return the standings of those agents that have a rank, by agent. Two queries."""
    found = {row.submission.agent_id: row for row in RANKED(tuple(agent.pk for agent in agents))}
    sizes = _sizes({row.submission.agent.environment_id for row in found.values()})
    return {key: Standing(row, row.rank or 0, sizes[row.submission.agent.environment_id]) for key, row in found.items()}


def standing_of(agent: Agent) -> Standing | None:
    """Return the standing of an agent; None without a rank, e.g. before its first rated match."""
    return standings_of([agent]).get(agent.pk)


def unrated_list(environment: Environment) -> list[Submission]:
    """Return the version that plays for each agent, where it is not yet rated, newest first."""
    active = Submission.objects.active().filter(agent__environment=environment)
    newer = active.filter(agent=OuterRef("agent"), number__gt=OuterRef("number"))
    fresh = active.filter(~Exists(newer), rating__rank__isnull=True).select_related("agent__owner")
    return list(fresh.order_by("-created_at", "pk"))


def moved(now: float, before: float) -> int:
    """Return how far a rating has moved in whole points: the difference of the two figures as pages show them."""
    return round(now) - round(before)


def _points(environment: int, moment: datetime, agents: tuple[int, ...]) -> QuerySet[RatingPoint, Any]:
    last = RatingPoint.objects.filter(environment=environment, at__lte=moment).order_by("-at").values("at")[:1]
    rows = RatingPoint.objects.filter(environment=environment, at=Subquery(last), submission__agent__in=agents)
    return rows.order_by().values_list("submission__agent", "value")


POINTS = Lookup(_points)
"""By agent its rating in the last leaderboard of an environment that was stored up to a moment."""


def changes_since(environment: Environment, ratings: Collection[Rating], moment: datetime) -> dict[int, int]:
    """Return by agent how far its rating has moved since the last leaderboard stored up to a moment, see `moved`.

    ratings: of agents of the environment, with their submissions. One query, of as many rows as there are ratings.
    """
    values = {row.submission.agent_id: row.value for row in ratings}
    before = POINTS(environment.pk, moment, tuple(values))
    return {agent: moved(values[agent], value) for agent, value in before}


SIZES = Lookup(
    lambda environments: (
        Rating.objects.filter(submission__agent__environment__in=environments, rank__isnull=False)
        .order_by()
        .values("submission__agent__environment")
        .values_list("submission__agent__environment", Count("pk"))
    )
)


def _sizes(environments: set[int]) -> dict[int, int]:
    return dict(SIZES(tuple(sorted(environments)))) if environments else {}
