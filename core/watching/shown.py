"""Versions of what everyone may see of an environment, an agent, a duel: while one stays, so does what a stranger sees.

A version is made from the rows themselves, so no writer has to remember to raise it. That of an environment is read
once a second, however many visitors there are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Sum

from core.cache.answers import cached
from core.duels.latest import newest_duel
from core.jobs.states import OPEN
from core.models import (
    Agent,
    AuditEntry,
    Build,
    Duel,
    Environment,
    Evaluation,
    FormerName,
    JobState,
    Sitting,
    Submission,
    Tournament,
    TournamentState,
    User,
    Validation,
)

STILL_SECONDS, MOVING_SECONDS = 60.0, 1.0
"""How long what is shown may be kept while nothing moves, and while something does."""


FIT = (
    "ledger__version",
    "ledger_sums__version",
    "ledger_sums__rated_version",
    "rating_pool__ledger_version",
    "rating_pool__fitted_at",
)
"""The versions of what is derived from an environment's ledger."""


class Shown(NamedTuple):
    """The version of what is shown, and for how many seconds it may be kept."""

    version: str
    seconds: float


def now_shown() -> Shown:
    """Return the version of what may change at any time: it is kept for a second."""
    return Shown("", MOVING_SECONDS)


def environment_shown(slug: str) -> Shown | None:
    """Return the version of an environment's boards, tournaments and agents; None if there is no such environment."""
    found = cached(f"shown:{slug}", tuple[str, bool], lambda: _environment(slug))
    version, is_moving = found
    return Shown(version, MOVING_SECONDS if is_moving else STILL_SECONDS) if version else None


def agent_shown(slug: str, name: str) -> Shown | None:
    """Return the version of an agent's page; None if there is no such agent. Four queries beside the environment's."""
    around = environment_shown(slug)
    row = Agent.objects.filter(environment__slug=slug, name__iexact=name).values().first()
    if around is None or row is None:
        return None
    versions = Submission.objects.filter(agent=row["id"])
    played = Duel.objects.filter(Q(player_1__in=versions) | Q(player_2__in=versions))
    sat = Sitting.objects.filter(submission__in=versions).aggregate(newest=Max("pk"), ended=Max("ended_at"))
    is_moving = (
        versions.filter(Exists(_open(Build)) | Exists(_open(Validation)) | Exists(_open(Evaluation))).exists()
        or played.filter(state__in=OPEN).exists()
    )
    facts = {"agent": row, "duel": newest_duel(versions), "sat": sat, "open": is_moving}
    return _both(around, facts, is_moving=is_moving)


def user_shown(username: str) -> Shown | None:
    """Return the version of a person's public page; None if there is no such person."""
    row = User.objects.filter(username=username).values("pk", "is_active", "is_staff").first()
    if row is None:
        return None
    slugs = Environment.objects.filter(agents__owner=row["pk"]).distinct().values_list("slug", flat=True)
    around = [found for slug in slugs.order_by("slug") if (found := environment_shown(slug))]
    seconds = min((found.seconds for found in around), default=STILL_SECONDS)
    return _both(Shown("".join(found.version for found in around), seconds), row, is_moving=False)


def duel_shown(duel_id: int) -> Shown | None:
    """Return the version of a duel and its matches; None if there is no such duel. One query beside the environment's.

    An open duel and one that waits for an analysis are kept for a second.
    """
    rows = Duel.objects.filter(pk=duel_id).annotate(
        analysis_count=Count("analyses", distinct=True),
        analyses_open=Count("analyses", filter=Q(analyses__state__in=OPEN), distinct=True),
        analysed_at=Max("analyses__ended_at"),
        struck=Max("void__pk"),
    )
    figures = ("struck", "analysis_count", "analyses_open", "analysed_at")
    row = rows.values("pk", "state", "records", *figures, "player_1__agent__environment__slug").first()
    around = row and environment_shown(row["player_1__agent__environment__slug"])
    if not row or not around:
        return None
    return _both(around, row, is_moving=row["state"] in OPEN or row["analyses_open"] > 0)


def evaluation_shown(evaluation_id: int) -> Shown | None:
    """Return the version of an evaluation; None if there is no such evaluation."""
    row = (
        Evaluation.objects.filter(pk=evaluation_id)
        .values("state", "ended_at", "is_current", "environment__slug")
        .first()
    )
    around = row and environment_shown(row["environment__slug"])
    return _both(around, row, is_moving=row["state"] in OPEN) if row and around else None


def _open(model: type[Build | Validation | Evaluation]) -> QuerySet[Any]:
    return model._default_manager.filter(submission=OuterRef("pk"), state__in=OPEN)


def _both(around: Shown, facts: Mapping[str, Any], *, is_moving: bool) -> Shown:
    seconds = MOVING_SECONDS if is_moving else around.seconds
    return Shown(_digest([around.version, facts]), seconds)


def _environment(slug: str) -> tuple[str, bool]:
    """Return the version, empty without such an environment, and whether anything of it is moving. Seven queries."""
    columns = [field.attname for field in Environment._meta.concrete_fields]
    found = Environment.objects.filter(slug=slug).values(*columns, *FIT).first()
    if found is None:
        return "", False
    key = found["id"]
    running = Q(state=TournamentState.RUNNING)
    tournaments = Tournament.objects.filter(environment=key).aggregate(
        count=Count("pk"),
        running=Count("pk", filter=running),
        planned=Count("pk", filter=Q(state=TournamentState.PLANNED)),
        newest=Max("pk"),
        made=Sum("table_version"),
        ended=Max("ended_at"),
    )
    agents = Agent.objects.filter(environment=key).aggregate(
        count=Count("pk"),
        disabled=Count("pk", filter=Q(is_disabled=True)),
        resting=Count("pk", filter=Q(is_resting=True)),
        barred=Count("pk", filter=Q(owner__is_active=False)),
    )
    versions = Submission.objects.filter(agent__environment=key).aggregate(
        count=Count("pk"),
        newest=Max("pk"),
        benched=Count("pk", filter=Q(is_benched=True)),
        deleted=Count("deleted_at"),
        removed=Count("image_removed_at"),
    )
    of_environment = Q(submission__agent__environment=key)
    validated = Validation.objects.filter(of_environment, state=JobState.SUCCEEDED).aggregate(
        count=Count("pk"), ended=Max("ended_at")
    )
    scored = Evaluation.objects.filter(environment=key).aggregate(
        count=Count("pk"), ended=Max("ended_at"), current=Count("pk", filter=Q(is_current=True))
    )
    rest = {
        "names": FormerName.objects.filter(environment=key).aggregate(newest=Max("pk")),
        "acts": AuditEntry.objects.aggregate(newest=Max("pk")),
    }
    is_moving = (
        bool(tournaments["running"])
        or (found["ledger_sums__rated_version"] or 0) > (found["rating_pool__ledger_version"] or 0)
        or found["kind"] == "APP"
    )
    return _digest([found, tournaments, agents, versions, validated, scored, rest]), is_moving


def _digest(facts: object) -> str:
    return sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16]
