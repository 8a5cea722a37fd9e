"""Rows for lists in the API: each query joins what the list shows and leaves out long columns that it does not."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Model, OuterRef, Prefetch, QuerySet, Subquery
from django.utils.functional import cached_property

from core.cache.answers import cached
from core.jobs.kinds import JOB_MODELS
from core.jobs.phase_selectors import submissions_with_phases
from core.models import (
    Agent,
    Analysis,
    Duel,
    Environment,
    EnvironmentTrial,
    Evaluation,
    Job,
    PackageBuild,
    Participant,
    Promotion,
    Rating,
    Recording,
    Registration,
    Rollout,
    Season,
    Sitting,
    Submission,
    Tournament,
)

PLAYERS = ("player_1__agent__owner", "player_2__agent__owner")
LONG_OF_DUELS = ("log", "verification")
# A list of seeds is long, and secret.
LONG_OF_EVALUATIONS = ("log", "verification", "metrics", "episodes", "runtime", "seed_list__seeds")
LIST_OF_ROLLOUTS = ("task", "environment", "batch__owner", "batch__model", "submission__agent")
LONG_OF_ROLLOUTS = ("log", "live", "answer", "task__definition")
JOB_NEEDS: dict[type[Job], tuple[tuple[str, ...], tuple[str, ...]]] = {
    Duel: (("tournament", *PLAYERS), LONG_OF_DUELS),
    Analysis: ((*(f"duel__{name}" for name in ("tournament", *PLAYERS)), "sitting__submission__agent"), ("log",)),
    Recording: (
        ("evaluation__submission__agent",),
        ("log", "evaluation__log", "evaluation__verification", "evaluation__metrics", "evaluation__episodes"),
    ),
    Evaluation: (("submission__agent", "seed_list"), LONG_OF_EVALUATIONS),
    PackageBuild: (("package__environment",), ("log", "built")),
    EnvironmentTrial: (("environment",), ("log",)),
    Sitting: (("submission__agent",), ("log", "opening")),
    Rollout: (LIST_OF_ROLLOUTS, LONG_OF_ROLLOUTS),
}
"""By kind of job: the rows to join, and the long columns to leave out."""


COUNTED_AT_ONCE = 5_000
"""Rows up to which a list is counted anew for each page."""
COUNT_SECONDS = 60.0
"""How old the number of rows of a longer list may be."""


class Counted(Paginator):  # type: ignore[type-arg]  # at run time it takes no argument
    """Pages whose rows are counted by `row_count`."""

    @cached_property
    def count(self) -> int:
        """The number of rows."""
        return row_count(self.object_list) if isinstance(self.object_list, QuerySet) else super().count


def row_count(rows: QuerySet[Any]) -> int:
    """Return how many rows a query has; above COUNTED_AT_ONCE, how many it had up to a minute ago."""
    keys = rows.order_by().values("pk")
    few = keys[: COUNTED_AT_ONCE + 1].count()
    if few <= COUNTED_AT_ONCE:
        return few
    asked = sha256(repr(keys.query.sql_with_params()).encode()).hexdigest()
    return cached(f"count:{asked}", int, keys.count, seconds=COUNT_SECONDS)


def _own(model: type[Model], *long: str) -> tuple[str, ...]:
    """Return the names of a model's own columns except the long ones."""
    return tuple(field.name for field in model._meta.concrete_fields if field.name not in long)


def _version(path: str) -> tuple[str, ...]:
    """Return the columns of a submission and its agent that lists show; fewer columns make the joins cheaper."""
    return tuple(
        f"{path}__{name}"
        for name in ("public_id", "number", "agent__name", "agent__is_public", "agent__owner__username")
    )


def environment_rows() -> QuerySet[Environment]:
    return Environment.objects.order_by("name", "pk")


def agent_rows() -> QuerySet[Agent]:
    """Return agents with `latest_number` and `latest_submission` of their newest version.

    `active_submission`: the version that plays for the agent.
    """
    # Subqueries for each listed agent: grouping over all agents could not use an index for the order.
    latest = Submission.objects.filter(agent=OuterRef("pk")).order_by("-number")
    playing = Submission.objects.playing_for(OuterRef("pk"))
    found = {
        "latest_number": Subquery(latest.values("number")[:1]),
        "latest_submission": Subquery(latest.values("pk")[:1]),
        "active_submission": Subquery(playing.values("pk")[:1]),
    }
    return Agent.objects.select_related("environment", "owner").annotate(**found).order_by("-pk")


def submission_rows() -> QuerySet[Submission]:
    """Return submissions with their phases and promotions, newest first."""
    duels = Prefetch("duels", Duel.objects.only("pk", "promotion"))
    promotions = Prefetch("promotions", Promotion.objects.select_related("incumbent").prefetch_related(duels))
    rows = submissions_with_phases().select_related("agent__owner").prefetch_related(promotions)
    return rows.order_by("-pk")


def tournament_rows() -> QuerySet[Tournament]:
    """Return tournaments without their plans, newest first."""
    return Tournament.objects.select_related("environment").order_by("-pk")


def participant_rows() -> QuerySet[Participant]:
    """Return participants by rank."""
    rows = Participant.objects.select_related("submission__agent__owner", "tournament")
    return rows.only(*_own(Participant), "tournament__format", *_version("submission")).order_by("rank", "pk")


def registration_rows() -> QuerySet[Registration]:
    """Return registrations, oldest first."""
    return Registration.objects.select_related("agent__owner").order_by("pk")


def season_rows() -> QuerySet[Season]:
    return Season.objects.select_related("environment").order_by("-begins_at", "-pk")


def duel_rows() -> QuerySet[Duel]:
    """Return duels, newest first."""
    shown = (*_version("player_1"), *_version("player_2"), "player_1__agent__environment__slug", "void")
    rows = Duel.objects.select_related("tournament", "player_1__agent__environment", "void", *PLAYERS)
    return rows.only(*_own(Duel, *LONG_OF_DUELS), *shown, "tournament__results", "tournament__course").order_by("-pk")


def evaluation_rows() -> QuerySet[Evaluation]:
    """Return evaluations without their episodes, newest first."""
    related = ("submission__agent__owner", "environment", "seed_list")
    return Evaluation.objects.select_related(*related).defer(*LONG_OF_EVALUATIONS).order_by("-pk")


def rating_rows() -> QuerySet[Rating]:
    """Return ratings, best first."""
    related = ("submission__agent__owner", "submission__agent__environment")
    return Rating.objects.select_related(*related).order_by("-value", "pk")


def job_rows(kind: str) -> QuerySet[Job]:
    """Return jobs of a kind without their logs, newest first. Raises KeyError for a kind that is not in JOB_MODELS."""
    model = JOB_MODELS[kind]
    related, long = JOB_NEEDS.get(model, (("submission__agent",), ("log",)))
    return model._default_manager.select_related(*related).defer(*long).order_by("-pk")
