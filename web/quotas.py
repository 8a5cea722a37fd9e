"""Quotas in words, for pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from core.models import Environment, QuotaName, User
from core.selectors.quotas import Quota, quota_list, quota_lists
from web.forms import ArchiveForm

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
}
NOTES = {
    QuotaName.UPLOADS_PER_DAY: "All are there again at 00:00 UTC. What the arena failed on is not counted.",
    QuotaName.ACTIVE_AGENTS: "Agents that have a version. Delete an agent's versions to make room.",
    QuotaName.STORAGE_BYTES: "Of all your archives here. Deleted versions free theirs.",
    QuotaName.CONCURRENT_JOBS: "Being built, validated or evaluated. Each is free again when it is done.",
}


def upload_quotas(user: User, environment: Environment, form: ArchiveForm | None = None) -> list[QuotaLine]:
    """What a person has left in an environment; the form learns how large an upload may be."""
    quotas = quota_list(user, environment, now=timezone.now())
    for quota in quotas:
        if quota.name == QuotaName.UPLOAD_BYTES and quota.limit is not None and form is not None:
            form.limit(quota.limit)
    return lines(quotas)


def own_quotas(user: User) -> list[EnvironmentQuotas]:
    """What a person has left wherever they use anything."""
    lists = quota_lists(user, Environment.objects.filter(is_active=True), now=timezone.now())
    return [
        EnvironmentQuotas(environment, lines(quotas))
        for environment, quotas in lists
        if any(row.used for row in quotas)
    ]


def lines(quotas: Iterable[Quota]) -> list[QuotaLine]:
    """Those that add up; how large a file may be is said where one is chosen."""
    return [_line(quota) for quota in quotas if quota.name in TITLES]


def _line(quota: Quota) -> QuotaLine:
    limit, used = quota.limit or 0, quota.used or 0
    percent = min(100, round(100 * used / limit)) if limit else 0
    if quota.name == QuotaName.STORAGE_BYTES:
        sentence = f"{filesizeformat(used)} of {filesizeformat(limit)}"
    else:
        sentence = f"{used} of {limit}"
    tone = "full" if quota.is_used_up else "almost" if percent >= ALMOST_PERCENT else "free"
    return QuotaLine(TITLES[quota.name], sentence, NOTES[quota.name], percent, tone)
