"""Quotas in words, for pages."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from core.models import Environment, QuotaName, User
from core.people.quota_selectors import Quota, challenge_quota, quota_limit, quota_list, quota_lists
from web.site.limits import duration
from web.submissions.forms import ArchiveForm

ALMOST_PERCENT = 80
"""From here on a bar says that little is left."""


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """One quota as a person reads it. percent: used, at most 100. tone: of the bar."""

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
    QuotaName.CHALLENGES_PER_DAY: "Duels of challenges today",
}
NOTES = {
    QuotaName.UPLOADS_PER_DAY: "What the arena failed on is not counted.",
    QuotaName.ACTIVE_AGENTS: "Agents that have a version. Delete an agent's versions to make room.",
    QuotaName.STORAGE_BYTES: "Of all your archives here. Deleted versions free theirs.",
    QuotaName.CONCURRENT_JOBS: "Being built, validated or evaluated. Each is free again when it is done.",
    QuotaName.CHALLENGES_PER_DAY: "What the arena failed on is not counted.",
}


def upload_quotas(user: User, environment: Environment, form: ArchiveForm) -> list[QuotaLine]:
    """What a person has left in an environment, counted when it is shown; the form learns how large a file may be."""
    largest = quota_limit(QuotaName.UPLOAD_BYTES, owner=user, environment=environment)
    if largest is not None:
        form.limit(largest)
    now = timezone.now()

    # Parts of the page that follow progress every other second do not show it.
    def of_uploads() -> list[QuotaLine]:
        found = quota_list(user, environment, now=now)
        return lines((row for row in found if row.name != QuotaName.CHALLENGES_PER_DAY), now=now)

    lazy: Any = SimpleLazyObject(of_uploads)
    return cast(list[QuotaLine], lazy)


def challenge_quotas(user: User, environment: Environment) -> list[QuotaLine]:
    """What a person has left of challenges in an environment; nothing where there is no limit."""
    now = timezone.now()
    quota = challenge_quota(user, environment, now=now)
    return [] if quota is None else lines([quota], now=now)


def own_quotas(user: User) -> list[EnvironmentQuotas]:
    """What a person has left wherever they use anything."""
    now = timezone.now()
    lists = quota_lists(user, Environment.objects.filter(is_active=True), now=now)
    return [
        EnvironmentQuotas(environment, lines(quotas, now=now))
        for environment, quotas in lists
        if any(row.used for row in quotas)
    ]


def lines(quotas: Iterable[Quota], *, now: datetime) -> list[QuotaLine]:
    """Those that add up; how large a file may be is said where one is chosen."""
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
        note = f"{note} All are there again at {quota.resets_at:%H:%M} UTC, in {duration(seconds)}."
    return QuotaLine(TITLES[quota.name], f"{sentence} left", note, percent, tone)
