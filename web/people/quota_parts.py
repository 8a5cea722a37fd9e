"""Quotas as pages show them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from core.courses.sight import seen
from core.models import Environment, QuotaName, User
from core.people.quota_selectors import Quota, challenge_quota, quota_lists
from web.site.numbers import duration

ALMOST_PERCENT = 80
"""Share of a quota from which its bar warns that little is left."""


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """One quota in words. percent: share used, at most 100. tone: of the bar."""

    title: str
    sentence: str
    note: str
    percent: int
    tone: str


@dataclass(frozen=True, slots=True)
class EnvironmentQuotas:
    environment: Environment
    lines: list[QuotaLine]


TITLES = {
    QuotaName.UPLOADS_PER_DAY: "Uploads today",
    QuotaName.ACTIVE_AGENTS: "Agents",
    QuotaName.STORAGE_BYTES: "Storage",
    QuotaName.CONCURRENT_JOBS: "Versions in progress",
    QuotaName.CHALLENGES_PER_DAY: "Duels of challenges and programs today",
}
NOTES = {
    QuotaName.UPLOADS_PER_DAY: "Failures of the arena do not count.",
    QuotaName.ACTIVE_AGENTS: "Counts agents that have a version. Delete all versions of an agent to make room.",
    QuotaName.STORAGE_BYTES: "Counts all your archives here. Deleting a version frees its archive.",
    QuotaName.CONCURRENT_JOBS: "Counts versions that are being built, validated or evaluated.",
    QuotaName.CHALLENGES_PER_DAY: "Failures of the arena do not count.",
}


def challenge_quotas(user: User, environment: Environment) -> list[QuotaLine]:
    """Return a person's quota of challenges in an environment; empty if there is no limit."""
    now = timezone.now()
    quota = challenge_quota(user, environment, now=now)
    return [] if quota is None else lines([quota], now=now)


def own_quotas(user: User) -> list[EnvironmentQuotas]:
    """Return a person's quotas in every environment where they have used some."""
    now = timezone.now()
    lists = quota_lists(user, seen(Environment.objects.filter(is_active=True), user), now=now)
    return [
        EnvironmentQuotas(environment, lines(quotas, now=now))
        for environment, quotas in lists
        if any(row.used for row in quotas)
    ]


def lines(quotas: Iterable[Quota], *, now: datetime) -> list[QuotaLine]:
    """Return the quotas in words, without the size of a file, which the upload form shows."""
    return [_line(quota, now) for quota in quotas if quota.name in TITLES]


def _line(quota: Quota, now: datetime) -> QuotaLine:
    limit, used, left = quota.limit or 0, quota.used or 0, quota.left or 0
    percent = min(100, round(100 * used / limit)) if limit else 0
    if quota.name == QuotaName.STORAGE_BYTES:
        sentence = f"{filesizeformat(left)} of {filesizeformat(limit)}"
    else:
        sentence = f"{left or 'none'} of {limit}"
    tone = "full" if quota.is_used_up else "almost" if percent >= ALMOST_PERCENT else "free"
    note = NOTES[quota.name]
    if quota.resets_at is not None:
        seconds = math.ceil((quota.resets_at - now).total_seconds())
        note = f"{note} Resets at {quota.resets_at:%H:%M} UTC, in {duration(seconds)}."
    return QuotaLine(TITLES[quota.name], f"{sentence} left", note, percent, tone)
