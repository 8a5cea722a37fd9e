"""Queries of what everyone may see of a row, each written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Lower

from core.duels.latest import newest_of_version
from core.jobs.states import OPEN
from core.lookup import ByKey, Lookup
from core.models import (
    WINDOW,
    Agent,
    Analysis,
    Audience,
    AuditEntry,
    Build,
    Course,
    Duel,
    Environment,
    Evaluation,
    FormerName,
    JobState,
    Recording,
    Registration,
    Sitting,
    Submission,
    Tournament,
    TournamentState,
    User,
    Validation,
)


def _open(model: type[Any]) -> Any:
    """Return the condition that a job of a version is open."""
    return Exists(model._default_manager.filter(submission=OuterRef("pk"), state__in=OPEN))


def _ended(model: type[Any]) -> Any:
    """Return when the newest job of a version ended, for one that began and ended unseen."""
    rows = model._default_manager.filter(submission=OuterRef("pk")).order_by("-pk")
    return Subquery(rows.values("ended_at")[:1])


AGENT = ByKey(
    lambda slug, name: (
        Agent.objects.alias(folded=Lower("name"))
        .filter(environment__slug=slug, folded=name)
        .values_list("pk", *(field.attname for field in Agent._meta.concrete_fields))
    )
)
VERSIONS = ByKey(
    lambda agent: (
        Submission.objects.filter(agent=agent)
        .order_by("pk")
        .values_list(
            *("pk", "is_benched", "deleted_at", "image_removed_at"),
            *newest_of_version(),
            *(_ended(model) for model in (Build, Validation, Evaluation)),
            *(_open(model) for model in (Build, Validation, Evaluation)),
        )
    )
)
"""The versions of an agent; the last three columns are true while a job of the version is open."""
OPEN_DUELS = ByKey(
    lambda agent: (
        Duel.objects.filter(
            Q(player_1__in=Submission.objects.filter(agent=agent))
            | Q(player_2__in=Submission.objects.filter(agent=agent)),
            state__in=OPEN,
        )
        .order_by()
        .values_list("pk")[:1]
    )
)
"""Any one open duel of an agent."""
SITTINGS = ByKey(
    lambda agent: (
        Sitting.objects.filter(submission__agent=agent)
        .order_by()
        .values("submission__agent")
        .values_list(Max("pk"), Max("ended_at"))
    )
)
PERSON = ByKey(
    lambda name: User.objects.filter(username=name).values_list("pk", "is_active", "is_staff", "team", "github")
)
PLAYED_BY = ByKey(
    lambda person: (
        Environment.objects.filter(agents__owner=person).order_by("slug").distinct().values_list("slug", flat=True)
    )
)
DUEL = ByKey(
    lambda duel: (
        Duel.objects.filter(pk=duel)
        .order_by()
        .values_list(
            *("player_1", "player_2", "state"),
            Exists(Analysis.objects.filter(duel=OuterRef("pk"), state__in=OPEN)),
            Subquery(Analysis.objects.filter(duel=OuterRef("pk")).order_by("-pk").values("pk")[:1]),
            *("records", "verdict", "tournament__results", "void__pk"),
        )
    )
)
"""A duel: its players, its state, and whether an analysis of it is open, come first."""
PLAYERS = ByKey(
    lambda one, two: (
        Submission.objects.filter(pk__in=[one, two])
        .order_by("pk")
        .values_list("agent__environment__slug", "rating__value", "agent__is_public", "agent__shares_moves")
    )
)
TOURNAMENT = ByKey(lambda key: Tournament.objects.filter(pk=key).order_by().values_list("environment__slug"))
AGENT_BY_KEY = ByKey(lambda key: Agent.objects.filter(pk=key).order_by().values_list("environment__slug", "pk"))
EVALUATION = ByKey(
    lambda evaluation: (
        Evaluation.objects.filter(pk=evaluation)
        .order_by()
        .values_list(
            *("environment__slug", "state"),
            Exists(Recording.objects.filter(evaluation=OuterRef("pk"), state__in=OPEN)),
            Subquery(Recording.objects.filter(evaluation=OuterRef("pk")).order_by("-pk").values("pk")[:1]),
            *("ended_at", "is_current", "verdict"),
        )
    )
)
"""An evaluation: its environment, its state, and whether a recording of it is open, come first."""


# --- Environments ---------------------------------------------------------------------------------------


class OfEnvironments:
    """A query of one environment, or of all. path: leads from a row to what names its environment."""

    def __init__(self, path: str, make: Callable[[], QuerySet[Any, Any]]) -> None:
        self._all = ByKey(make)
        self._one = Lookup(lambda named: make().filter(**{path: named}))

    def __call__(self, named: int | str | None) -> list[tuple[Any, ...]]:
        """Return the rows of the environment that is named so, or of all for None."""
        return self._all() if named is None else self._one(named)


def _sums(path: str, rows: QuerySet[Any], *sums: Any) -> OfEnvironments:
    """Return a query of sums, with a row for each environment that has any. path: leads to its key."""
    named = {f"sum_{number}": one for number, one in enumerate(sums)}
    return OfEnvironments(path, lambda: rows.order_by(path).values(path).annotate(**named).values_list(path, *named))


FITS = (
    *("ledger_sums__rated_version", "rating_pool__ledger_version"),
    *("ledger__version", "ledger_sums__version", "rating_pool__fitted_at"),
)
"""The versions of what is derived from a ledger; those of rated entries and of the ratings come first."""
ENVIRONMENTS = OfEnvironments(
    "slug",
    lambda: Environment.objects.order_by("pk").values_list(
        *FITS, "pk", "kind", *(field.attname for field in Environment._meta.concrete_fields)
    ),
)
"""FITS, then the key, the kind and all columns."""
_RUNNING, _PLANNED = Q(state=TournamentState.RUNNING), Q(state=TournamentState.PLANNED)
TOURNAMENTS = _sums(
    "environment_id",
    Tournament.objects.all(),
    Count("pk", filter=_RUNNING),
    Count("pk"),
    Count("pk", filter=_PLANNED),
    Max("pk"),
    Count("pk", filter=Q(results=Audience.PUBLIC)),
    Sum("table_version"),
    Max("ended_at"),
)
"""The key of the environment, the number of its tournaments that run, and other sums."""
WINDOWS = OfEnvironments(
    "environment_id", lambda: Tournament.objects.filter(_PLANNED).order_by("pk").values_list(*WINDOW)
)
"""The times at which what one may do changes, of planned tournaments."""
SUMS = (
    _sums(
        "environment_id",
        Agent.objects.all(),
        Count("pk"),
        Count("pk", filter=Q(is_disabled=True)),
        Count("pk", filter=Q(is_resting=True)),
        Count("pk", filter=Q(owner__is_active=False)),
    ),
    _sums("environment_id", FormerName.objects.all(), Max("pk")),
    _sums(
        "agent__environment_id",
        Submission.objects.all(),
        Count("pk", filter=Q(is_benched=True)),
        Count("deleted_at"),
        Count("image_removed_at"),
    ),
    _sums(
        "submission__agent__environment_id",
        Validation.objects.filter(state=JobState.SUCCEEDED),
        Count("pk"),
        Max("ended_at"),
    ),
    _sums(
        "environment_id",
        Evaluation.objects.all(),
        Count("pk"),
        Max("ended_at"),
        Count("pk", filter=Q(is_current=True)),
    ),
    _sums(
        "tournament__environment_id",
        Registration.objects.filter(tournament__state=TournamentState.PLANNED),
        Count("pk"),
        Max("pk"),
        Sum("agent"),
    ),
)
"""Sums over agents and their former names, then over versions, validations, evaluations and registrations."""
ACTS = Lookup(lambda: AuditEntry.objects.order_by("-pk").values_list("pk")[:1])
COURSES = Lookup(lambda: Course.objects.order_by("pk").values_list("pk", "seen_by"))
