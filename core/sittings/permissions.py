"""Which agents a person may sit down against, and how often."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from core.errors import QuotaExceeded, Refused
from core.jobs.states import OPEN
from core.models import Agent, Environment, JobFault, JobState, Opponents, QuotaName, Sitting, Submission, User
from core.people.quota_selectors import ONE_DAY, quota_limit
from core.people.quota_usage import day_begin

OPEN_AT_ONCE, PEOPLE_AT_ADDRESS = 2, 30
"""How many sittings a person may have open, and for how many people the visitors of one address may play."""
SPARED = Q(state=JobState.CANCELLED, started_at=None) | Q(state=JobState.FAILED, fault=JobFault.PLATFORM)


def environment_obstacle(environment: Environment) -> str:
    """Return a sentence that says why people cannot play in an environment now; empty when people can."""
    if environment.is_app or environment.seats != 2:
        return f"{environment} is no game of two: there is no seat for a person."
    if settings.SANDBOX == "kubernetes":
        return "This arena plays on a cluster, where people cannot play against agents yet."
    return environment.closed_because


def sitting_obstacle(agent: Agent, version: Submission | None, user: User | None) -> str:
    """Return a sentence that says why a person cannot play against an agent now; empty when they can.

    version: the one that plays for it. user: None for a visitor without an account.
    """
    if because := environment_obstacle(agent.environment):
        return because
    if agent.is_disabled or not agent.owner.is_active:
        return f"{agent} may not take part at the moment."
    if agent.is_resting:
        return f"{agent} is hidden."
    if version is None:
        return f"{agent} has no version that may play at the moment."
    if user is not None and user.pk == agent.owner_id:
        return ""
    if agent.opponents == Opponents.NOBODY:
        return f"The owner of {agent} does not let people play against it."
    if user is None and not is_open_to_visitors(agent):
        return f"Log in to play against {agent}: without an account you can play the agents that are open to everyone."
    return ""


def is_open_to_visitors(agent: Agent) -> bool:
    """Return whether people without an account may play: its owner has said so, or is an organiser."""
    return agent.opponents == Opponents.EVERYONE or (agent.owner.is_staff and agent.opponents != Opponents.NOBODY)


def open_agents(user: User | None) -> QuerySet[Agent]:
    """Return the agents that a person may play against, by their rows."""
    agents = Agent.objects.filter(is_disabled=False, is_resting=False, owner__is_active=True)
    everyone = Q(opponents=Opponents.EVERYONE) | (Q(owner__is_staff=True) & ~Q(opponents=Opponents.NOBODY))
    return agents.filter(everyone if user is None else ~Q(opponents=Opponents.NOBODY) | Q(owner=user))


def sitting_quota_check(
    *, user: User, address_digest: str, known: Sequence[UUID], environment: Environment, now: datetime
) -> None:
    """Raise Refused or QuotaExceeded unless a person may sit down once more. Call it under the lock of the person.

    address_digest: of a visitor. known: the sittings that the visitor's browser has begun, which count as a person's;
    a browser that forgets them is stopped by what all visitors of its address may play together.
    """
    own = Sitting.objects.filter(user=user, address_digest=address_digest).order_by()
    if not address_digest:
        _quota_check(own, "You have", 1, user=user, environment=environment, now=now)
        return
    _quota_check(own.filter(public_id__in=known), "You have", 1, user=user, environment=environment, now=now)
    together = "Visitors from your address have"
    _quota_check(own, together, PEOPLE_AT_ADDRESS, user=user, environment=environment, now=now)


def _quota_check(
    rows: QuerySet[Sitting], who: str, people: int, *, user: User, environment: Environment, now: datetime
) -> None:
    """Raise Refused or QuotaExceeded if these sittings are as many as so many people may have."""
    most = people * OPEN_AT_ONCE
    if rows.filter(state__in=OPEN).count() >= most:
        raise Refused(f"{who} {most} matches against agents open. Finish or resign one of them first.")
    limit = quota_limit(QuotaName.SITTINGS_PER_DAY, owner=user, environment=environment)
    today = rows.filter(created_at__gte=day_begin(now), submission__agent__environment=environment)
    if limit is not None and today.exclude(SPARED).count() >= people * limit:
        raise QuotaExceeded(
            f"{who} played {people * limit} matches of today against agents in {environment}. The next day begins at "
            "00:00 UTC.",
            code=f"quota_{QuotaName.SITTINGS_PER_DAY.value}",
            retry_after_seconds=math.ceil((day_begin(now) + ONE_DAY - now).total_seconds()),
        )
