"""Queries of what everyone may see of a row, each written once."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db.models import Exists, Max, OuterRef, Q, Subquery
from django.db.models.functions import Lower

from core.duels.latest import newest_of_version
from core.jobs.states import OPEN
from core.lookup import Lookup
from core.models import (
    Agent,
    Analysis,
    Build,
    Duel,
    Environment,
    Evaluation,
    Recording,
    Sitting,
    Submission,
    Tournament,
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


ByKey = partial(Lookup, by_key=True)
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
    lambda agent: Duel.objects.filter(
        Q(player_1__in=Submission.objects.filter(agent=agent)) | Q(player_2__in=Submission.objects.filter(agent=agent)),
        state__in=OPEN,
    ).values_list("state")[:1]
)
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
