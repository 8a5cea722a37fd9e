"""Quotas of rollouts: how many a day, how many at once, and what they may cost a day.

Counted from the rows. What the arena spoilt, or what was cancelled before it began, is not charged; nor are the
arena's own rollouts, for the board and to test the tasks of organisers.
"""

from __future__ import annotations

import math
from datetime import datetime

from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from core.errors import QuotaExceeded
from core.jobs.states import OPEN
from core.models import BatchPurpose, Environment, JobFault, JobState, LanguageModel, QuotaName, Rollout, User
from core.people.quota_selectors import OF_ROLLOUTS, ONE_DAY, Quota, quota_limit
from core.people.quota_usage import day_begin

CHARGED = Q(batch__purpose=BatchPurpose.ASKED) | Q(
    batch__purpose=BatchPurpose.ACCEPTANCE, task__file__by_organiser=False
)
"""Rollouts that a person has asked for; the tests of members' tasks are made on request only."""
SPARED = Q(state=JobState.CANCELLED, started_at=None) | Q(state=JobState.FAILED, fault=JobFault.PLATFORM)


def rollout_quotas(owner: User, environment: Environment, *, now: datetime) -> list[Quota]:
    """Return a person's limited quotas of rollouts in an application."""
    found = []
    for name in OF_ROLLOUTS:
        limit = quota_limit(name, owner=owner, environment=environment)
        if limit is not None:
            resets_at = None if name == QuotaName.CONCURRENT_ROLLOUTS else day_begin(now) + ONE_DAY
            found.append(Quota(name, limit, _used(name, owner, environment, now), resets_at))
    return found


def rollout_quota_check(
    *, owner: User, environment: Environment, rollout_count: int, now: datetime | None = None
) -> None:
    """Raise QuotaExceeded unless a person whose row is locked may ask for so many rollouts."""
    now = now or timezone.now()
    for quota in rollout_quotas(owner, environment, now=now):
        is_cost = quota.name == QuotaName.ROLLOUT_COST_PER_DAY
        left = quota.left or 0
        if left >= (1 if is_cost else rollout_count):
            continue
        raise QuotaExceeded(
            _sentence(quota, environment, rollout_count),
            code=f"quota_{quota.name.value}",
            retry_after_seconds=None if quota.resets_at is None else math.ceil((quota.resets_at - now).total_seconds()),
        )


def model_has_budget(model: LanguageModel, *, now: datetime) -> bool:
    """Return whether a rollout with a language model may begin today."""
    return model.cost_per_day_micros is None or cost_of_model(model, now=now) < model.cost_per_day_micros


def cost_of_model(model: LanguageModel, *, now: datetime) -> int:
    """Return what rollouts with a language model have cost today, in millionths of the unit."""
    rows = Rollout.objects.filter(batch__model=model, started_at__gte=day_begin(now))
    return int(rows.aggregate(cost=Sum("cost_micros"))["cost"] or 0)


def rollouts_charged(owner: User, environment: Environment) -> QuerySet[Rollout]:
    """Return the rollouts that a person has asked for in an application and that are charged."""
    rows = Rollout.objects.filter(CHARGED, batch__owner=owner, environment=environment)
    return rows.exclude(SPARED)


def _used(name: QuotaName, owner: User, environment: Environment, now: datetime) -> int:
    rows = rollouts_charged(owner, environment)
    if name == QuotaName.CONCURRENT_ROLLOUTS:
        return rows.filter(state__in=OPEN).count()
    today = rows.filter(created_at__gte=day_begin(now))
    if name == QuotaName.ROLLOUTS_PER_DAY:
        return today.count()
    return int(today.aggregate(cost=Sum("cost_micros"))["cost"] or 0)


def _sentence(quota: Quota, environment: Environment, asked: int) -> str:
    rollouts = "one rollout" if asked == 1 else f"{asked} rollouts"
    left = quota.left or "none"
    more = f"only {quota.left}" if quota.left else "no"
    match quota.name:
        case QuotaName.ROLLOUTS_PER_DAY:
            return (
                f"You asked for {rollouts}, but {left} of your {quota.limit} a day in {environment} are left. The next "
                "day begins at 00:00 UTC. Rollouts that failed because of the arena do not count."
            )
        case QuotaName.CONCURRENT_ROLLOUTS:
            return (
                f"You asked for {rollouts}, but {more} more may wait or run at once in {environment} "
                f"(at most {quota.limit}). Wait until some of them are over, or cancel them."
            )
    return f"Your rollouts in {environment} have used up their cost limit for today. The next day begins at 00:00 UTC."
