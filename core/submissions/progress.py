"""The state of everything that the page of an agent shows, in one short text, so that an unchanged page is not made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Length

from core.jobs.states import OPEN
from core.lookup import Lookup
from core.models import (
    Agent,
    Blunder,
    Build,
    Challenge,
    Drill,
    Environment,
    Evaluation,
    JobState,
    Participant,
    Promotion,
    PromotionState,
    Publication,
    Submission,
    TournamentState,
    Validation,
)
from core.submissions.last_duels import LastDuel
from core.submissions.outlook import edition_expected

LINE_SECONDS = 5
"""How often the place of a waiting job in its line is read again: it changes with the jobs of others."""
CHALLENGES, PLACES = 10, 30
"""How many of the latest challenges and places in tournaments are watched."""


def _jobs(agent: int, model: type[Any]) -> Any:
    """Return sums over the jobs of a kind that change with each step that one of them makes."""
    is_open = Q(state__in=OPEN)
    sums = {
        "kind_of": Value(model.__name__),
        "open": Count("pk", filter=is_open),
        "waiting": Count("pk", filter=Q(state=JobState.QUEUED)),
        "count": Count("pk"),
        "attempts": Sum("attempt"),
        "ended": Max("ended_at"),
        "delayed": Max("not_before"),
        "done": Sum({Validation: "matches_done", Evaluation: "episodes_done"}.get(model, "attempt"), filter=is_open),
        "written": Sum(Length("log"), filter=is_open),
    }
    rows: QuerySet[Any] = model._default_manager.filter(submission__agent=agent).order_by()
    return rows.values("submission__agent").annotate(**sums).values_list(*sums)


def _all_jobs(agent: int) -> Any:
    first, *others = (_jobs(agent, model) for model in (Build, Validation, Evaluation, Publication, Drill))
    return first.union(*others, all=True)


JOBS = Lookup(_all_jobs)
"""Sums over the jobs of an agent by kind; how many are open and how many wait come first."""
VERSIONS = Lookup(
    lambda agent: (
        Submission.objects.filter(agent=agent)
        .order_by("pk")
        .values_list("pk", "is_benched", "deleted_at", "image_removed_at", "warnings")
    )
)
RATED = Lookup(
    lambda environment, agent: Environment.objects.filter(pk=environment).values_list(
        *("ledger_sums__rated_version", "rating_pool__ledger_version", "rating_pool__fitted_at"),
        Subquery(Blunder.objects.filter(agent=agent).order_by("-pk").values("pk")[:1]),
    )
)
ENTERED = Lookup(
    lambda agent: (
        Participant.objects.filter(submission__agent=agent)
        .order_by("-tournament__edition", "-pk")
        .values_list("pk", "rank", "points", "withdrawn_at", "tournament__state")[:PLACES]
    )
)
TESTED = Lookup(
    lambda agent: (
        Promotion.objects.filter(candidate__agent=agent)
        .annotate(done=Sum("duels__matches_done"), newest=Max("duels__pk"))
        .order_by("pk")
        .values_list("pk", "state", "done", "newest")
    )
)
ASKED = Lookup(
    lambda agent: (
        Challenge.objects.filter(submission__agent=agent)
        .annotate(open=Count("duels", filter=Q(duels__state__in=OPEN)), done=Sum("duels__matches_done"))
        .order_by("-pk")
        .values_list("pk", "open", "done")[:CHALLENGES]
    )
)
OWNED = Lookup(
    lambda owner, environment: (
        Submission.objects.filter(agent__owner=owner, agent__environment=environment)
        .order_by()
        .values("agent__owner")
        .values_list(
            *(Max("pk"), Count("deleted_at")),
            Subquery(Challenge.objects.filter(user=owner).order_by("-pk").values("pk")[:1]),
        )
    )
)
"""The uploads of a person in an environment and their last challenge, on which quotas depend."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far all is. stamp: differs whenever the page does. is_moving: whether it changes without its viewer."""

    stamp: str
    is_moving: bool


def agent_progress(
    agent: Agent,
    playing: Submission | None,
    rank: int | None,
    last: Sequence[LastDuel],
    *,
    now: datetime,
    rating: float | None = None,
) -> Progress:
    """Return how far the work of an agent, its tournaments and its ratings are. Seven queries, of few rows.

    playing: the version that plays for it, or is on the board. last: its latest duels. rating: as the page shows it,
    because a fit may end after it was read and before this looks. Call it before the page is made: what changes
    meanwhile then gives the next stamp.
    """
    jobs, tested, challenges, places = (query(agent.pk) for query in (JOBS, TESTED, ASKED, ENTERED))
    rated, fitted, fitted_at, blunder = RATED(agent.environment_id, agent.pk)[0]
    is_moving = (
        any(count for _, count, *_ in jobs)
        or any(state == PromotionState.TESTING for _, state, _, _ in tested)
        or any(count for _, count, _ in challenges)
        or any(state == TournamentState.RUNNING and not left for *_, left, state in places)
        or (rated or 0) > (fitted or 0)
        or _awaits_rank(agent, playing, rank)
    )
    facts = [
        *[field.value_from_object(agent) for field in agent._meta.concrete_fields],
        *[
            agent.owner.is_active,
            agent.owner.team,
            agent.environment.closed_because,
            playing and playing.pk,
            rank,
            rating,
        ],
        *[fitted_at, fitted, blunder, OWNED(agent.owner_id, agent.environment_id)],
        *[VERSIONS(agent.pk), sorted(jobs, key=str), places, tested, challenges, is_moving],
        *[(row.duel.pk, row.duel.state, row.duel.matches_done, row.duel.is_void) for row in last],
        int(now.timestamp() / LINE_SECONDS) if any(waiting for _, _, waiting, *_ in jobs) else 0,
    ]
    return Progress(sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16], is_moving)


def _awaits_rank(agent: Agent, playing: Submission | None, rank: int | None) -> bool:
    """Return whether the version that plays gets its first rank by itself: it has played, or its edition begins."""
    if playing is None or agent.environment.is_scored:
        return False
    if rank is not None and getattr(getattr(playing, "rating", None), "rank", None) is not None:
        return False
    return playing.participations.exists() or edition_expected(agent.environment)
