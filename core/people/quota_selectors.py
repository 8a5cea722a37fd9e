"""Quotas: the limits of people and of environments, and how much of them is left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Sum

from core.models import Environment, QuotaName, Submission, User
from core.people.quota_usage import QuotaUsage, challenges_counted, day_begin, usage_by_environment

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota of one person in one environment.

    limit: None for no limit. used: None where nothing is counted, as for the size of one upload. resets_at: when the
    whole quota is free again; None when that depends on more than time.
    """

    name: QuotaName
    limit: int | None
    used: int | None = None
    resets_at: datetime | None = None

    @property
    def left(self) -> int | None:
        """The part of the quota that is left; None without a limit."""
        return None if self.limit is None else max(0, self.limit - (self.used or 0))

    @property
    def is_used_up(self) -> bool:
        return self.left == 0


def quota_limit(name: QuotaName, *, owner: User, environment: Environment) -> int | None:
    """Return a person's limit: their own, else the environment's, else that of the settings; None without a limit.

    No upload may be larger than MAX_UPLOAD_BYTES, whatever is set.
    """
    of_site: int = settings.MAX_UPLOAD_BYTES
    if owner.is_quota_exempt or (owner.is_system and name in NOT_OF_ANONYMOUS):
        number: int | None = 0
    else:
        # The anonymous account's own numbers apply to all its clients together, see quotas_shared.
        own = None if owner.is_system else owner.quota_number(name)
        number = _first(own, environment.quota_number(name), settings.QUOTAS[name.value])
    if name == QuotaName.UPLOAD_BYTES:
        return min(number or of_site, of_site)
    return number or None


OF_ROLLOUTS = (QuotaName.ROLLOUTS_PER_DAY, QuotaName.CONCURRENT_ROLLOUTS, QuotaName.ROLLOUT_COST_PER_DAY)
"""Quotas of applications only: core.rollouts.quotas counts them."""
COUNTED = tuple(
    name for name in QuotaName if name not in (QuotaName.UPLOAD_BYTES, QuotaName.SITTINGS_PER_DAY, *OF_ROLLOUTS)
)
NOT_OF_ANONYMOUS = frozenset(
    {QuotaName.STORAGE_BYTES, QuotaName.ACTIVE_AGENTS, QuotaName.CHALLENGES_PER_DAY, *OF_ROLLOUTS}
)
"""Quotas that single anonymous clients do not have: tomorrow their own uploads are unknown, and none can challenge."""


def quotas_shared(anonymous: User, environment: Environment, *, now: datetime) -> list[Quota]:
    """Return the shared quotas of anonymous clients in an environment: the account's numbers, else the settings'."""
    of_all = Submission.objects.filter(agent__owner=anonymous, agent__environment=environment.pk)
    found: list[Quota] = []
    for name in (QuotaName.UPLOADS_PER_DAY, QuotaName.STORAGE_BYTES):
        limit = _first(anonymous.quota_number(name), settings.QUOTAS_ANONYMOUS[name.value])
        if not limit or anonymous.is_quota_exempt:
            continue
        if name == QuotaName.UPLOADS_PER_DAY:
            used = of_all.filter(created_at__gte=day_begin(now)).count()
            found.append(Quota(name, limit, used, day_begin(now) + ONE_DAY))
        else:
            size = of_all.filter(deleted_at=None).aggregate(size=Sum("archive_bytes"))["size"]
            found.append(Quota(name, limit, size or 0))
    return found


def quota_list(owner: User, environment: Environment, *, now: datetime, has_challenges: bool = True) -> list[Quota]:
    """Return a person's limited quotas in an environment. has_challenges: whether that of challenges is among them."""
    found = quota_lists(owner, [environment], now=now, has_challenges=has_challenges)[0][1]
    return [row for row in found if has_challenges or row.name != QuotaName.CHALLENGES_PER_DAY]


def quota_lists(
    owner: User, environments: Iterable[Environment], *, now: datetime, has_challenges: bool = True
) -> list[tuple[Environment, list[Quota]]]:
    """Like `quota_list`, for many environments with the same number of queries."""
    rows = list(environments)
    # Only environments with a limit are counted.
    counted = [row for row in rows if any(quota_limit(name, owner=owner, environment=row) for name in COUNTED)]
    usage = usage_by_environment(owner, now=now, environments=counted) if counted else {}
    challenges = challenges_counted(owner, list(usage), now=now) if usage and has_challenges else {}
    for pk, (count, spared) in challenges.items():
        usage[pk].challenges, usage[pk].challenges_spared = count, spared
    return [(row, quotas(owner, row, usage.get(row.pk, QuotaUsage()), now=now)) for row in rows]


def quotas(owner: User, environment: Environment, usage: QuotaUsage, *, now: datetime) -> list[Quota]:
    """Return the limited quotas of a usage, in the order of QuotaName."""
    tomorrow = day_begin(now) + ONE_DAY
    found: list[Quota] = []
    for name in QuotaName:
        limit = quota_limit(name, owner=owner, environment=environment)
        if limit is None:
            continue
        match name:
            case QuotaName.UPLOADS_PER_DAY:
                found.append(Quota(name, limit, usage.charged(limit), tomorrow))
            case QuotaName.ACTIVE_AGENTS:
                found.append(Quota(name, limit, usage.agents))
            case QuotaName.STORAGE_BYTES:
                found.append(Quota(name, limit, usage.storage_bytes))
            case QuotaName.CONCURRENT_JOBS:
                found.append(Quota(name, limit, usage.jobs))
            case QuotaName.UPLOAD_BYTES:
                found.append(Quota(name, limit))
            case QuotaName.CHALLENGES_PER_DAY:
                found.append(Quota(name, limit, usage.challenges_charged(limit), tomorrow))
    return found


def challenge_quota(owner: User, environment: Environment, *, now: datetime) -> Quota | None:
    """Return a person's quota of challenge duels, with one query; None without a limit."""
    limit = quota_limit(QuotaName.CHALLENGES_PER_DAY, owner=owner, environment=environment)
    if limit is None:
        return None
    count, spared = challenges_counted(owner, [environment.pk], now=now).get(environment.pk, (0, 0))
    charged = QuotaUsage(challenges=count, challenges_spared=spared).challenges_charged(limit)
    return Quota(QuotaName.CHALLENGES_PER_DAY, limit, charged, day_begin(now) + ONE_DAY)


def _first(*numbers: int | None) -> int | None:
    return next((number for number in numbers if number is not None), None)
