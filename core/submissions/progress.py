"""The state of everything that the page of an agent shows, in one short text, so that an unchanged page is not made."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import astuple, dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Length

from core.duels.challenge_selectors import ACTIVE
from core.jobs.states import OPEN
from core.lookup import ByKey
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
    Rating,
    Submission,
    TournamentState,
    Validation,
)
from core.submissions.last_duels import FACTS
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


JOBS = ByKey(_all_jobs)
"""Sums over the jobs of an agent by kind; how many are open and how many wait come first."""
VERSIONS = ByKey(
    lambda agent: (
        Submission.objects.filter(agent=agent)
        .order_by("pk")
        .values_list("pk", "is_benched", "deleted_at", "image_removed_at", "warnings")
    )
)
RATED = ByKey(
    lambda environment, agent: Environment.objects.filter(pk=environment).values_list(
        *("ledger_sums__rated_version", "rating_pool__ledger_version", "rating_pool__fitted_at"),
        Subquery(Blunder.objects.filter(agent=agent).order_by("-pk").values("pk")[:1]),
    )
)
ENTERED = ByKey(
    lambda agent: (
        Participant.objects.filter(submission__agent=agent)
        .order_by("-tournament__edition", "-pk")
        .values_list("pk", "rank", "points", "withdrawn_at", "tournament__state")[:PLACES]
    )
)
TESTED = ByKey(
    lambda agent: (
        Promotion.objects.filter(candidate__agent=agent)
        .annotate(done=Sum("duels__matches_done"), newest=Max("duels__pk"))
        .order_by("pk")
        .values_list("pk", "state", "done", "newest")
    )
)
ASKED = ByKey(
    lambda agent: (
        Challenge.objects.filter(submission__agent=agent)
        .annotate(open=Count("duels", filter=Q(duels__state__in=OPEN)), done=Sum("duels__matches_done"))
        .order_by("-pk")
        .values_list("pk", "open", "done")[:CHALLENGES]
    )
)
OWNED = ByKey(
    lambda owner, environment: (
        Submission.objects.filter(agent__owner=owner, agent__environment=environment)
        .order_by()
        .values("agent__owner")
        .values_list(
            *(Max("pk"), Count("deleted_at")),
            # By the index of a person's; in the order of keys PostgreSQL might read those of all.
            Subquery(Challenge.objects.filter(user=owner).order_by("-created_at", "-pk").values("pk")[:1]),
        )
    )
)
"""The uploads of a person in an environment and their last challenge, on which quotas depend."""


RANKED = ByKey(
    lambda agent: (
        Rating.objects.filter(submission__agent=agent, rank__isnull=False).order_by().values_list("rank", "value")
    )
)


@dataclass(frozen=True, slots=True)
class Playing:
    """The version that plays for an agent, or is on the board.

    version: its key. rank, rating: as the page of its agent shows them. awaits: whether it has no rank of its own and
    may get one. has_played: whether it has taken part in a tournament.
    """

    version: int | None
    rank: int | None
    rating: float | None = None
    awaits: bool = False
    has_played: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """How far all is. stamp: differs whenever the page does. is_moving: whether it changes without its viewer."""

    stamp: str
    is_moving: bool


def playing_now(agent: Agent) -> Playing:
    """Return what plays for an agent in an environment of duels. Two queries."""
    ranked, plays = RANKED(agent.pk), ACTIVE(agent.pk)
    version, own_rank, own_rating, has_played = plays[0] if plays else (None, None, None, False)
    rank, rating = ranked[0] if ranked else (None, own_rating)
    return Playing(version, rank, rating, version is not None and own_rank is None, bool(has_played))


def agent_progress(agent: Agent, playing: Playing, last: Collection[int], *, now: datetime) -> Progress:
    """Return how far the work of an agent, its tournaments and its ratings are. Eight queries, of few rows.

    playing: as the page shows it. last: the keys of its latest duels. Call it before the page is made: what changes
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
        or (playing.awaits and (playing.has_played or edition_expected(agent.environment)))
    )
    facts = [
        *[field.value_from_object(agent) for field in agent._meta.concrete_fields],
        *[agent.owner.is_active, agent.owner.team, agent.environment.closed_because, astuple(playing)],
        *[fitted_at, fitted, blunder, OWNED(agent.owner_id, agent.environment_id)],
        *[VERSIONS(agent.pk), sorted(jobs, key=str), places, tested, challenges, is_moving],
        *[
            FACTS(tuple(last)) if last else (),
            int(now.timestamp() / LINE_SECONDS) if any(waiting for _, _, waiting, *_ in jobs) else 0,
        ],
    ]
    return Progress(sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16], is_moving)
