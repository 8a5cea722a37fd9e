"""Quotas and their use, counted from the rows themselves, so that no counter can go wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet, Sum

from core.jobs.phase_selectors import decisive_job
from core.models import (
    Agent,
    Build,
    CancelCode,
    Duel,
    Environment,
    Evaluation,
    JobFault,
    JobState,
    QuotaName,
    Submission,
    UploadReservation,
    User,
    Validation,
)

OPEN = (JobState.QUEUED, JobState.RUNNING)
SPARED = (Q(state=JobState.CANCELLED) & (~Q(cancel_code=CancelCode.BY_OWNER) | Q(started_at=None))) | Q(
    state=JobState.FAILED, fault=JobFault.PLATFORM
)
"""Duels of challenges and runs that are not charged."""
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
        """What may still be used; None without a limit."""
        return None if self.limit is None else max(0, self.limit - (self.used or 0))

    @property
    def is_used_up(self) -> bool:
        return self.left == 0


@dataclass(slots=True)
class Usage:
    """A person's use of an environment."""

    uploads: int = 0
    spared: int = 0
    """Uploads among these that the arena failed on or organisers stopped."""
    agents: int = 0
    storage_bytes: int = 0
    jobs: int = 0
    challenges: int = 0
    """The number of duels of challenges and runs."""
    challenges_spared: int = 0
    """Duels among these that the arena failed on or that were cancelled."""

    def charged(self, limit: int) -> int:
        """Return the number of uploads that count.

        Spared uploads do not count, but only up to `limit` of them: a person who can make the arena fail must not
        upload forever.
        """
        return max(self.uploads - self.spared, self.uploads - limit)

    def challenges_charged(self, limit: int) -> int:
        """Return the number of challenge duels that count, by the same rule."""
        return max(self.challenges - self.challenges_spared, self.challenges - limit)


def day_begin(now: datetime) -> datetime:
    """Return when the day of a moment began, in UTC."""
    return datetime.combine(now.astimezone(UTC).date(), time(), UTC)


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


COUNTED = tuple(name for name in QuotaName if name != QuotaName.UPLOAD_BYTES)
NOT_OF_ANONYMOUS = frozenset({QuotaName.STORAGE_BYTES, QuotaName.ACTIVE_AGENTS, QuotaName.CHALLENGES_PER_DAY})
"""Quotas that single anonymous clients do not have: tomorrow their own uploads are unknown, and none can challenge."""


def quotas_shared(anonymous: User, environment: Environment, *, now: datetime) -> list[Quota]:
    """Return the shared quotas of anonymous clients in an environment: the account's numbers, else the settings'."""
    of_all = Submission.objects.filter(agent__owner=anonymous, agent__environment=environment.pk)
    coming = uploads_coming(anonymous, environment, now=now)
    found: list[Quota] = []
    for name in (QuotaName.UPLOADS_PER_DAY, QuotaName.STORAGE_BYTES):
        limit = _first(anonymous.quota_number(name), settings.QUOTAS_ANONYMOUS[name.value])
        if not limit or anonymous.is_quota_exempt:
            continue
        if name == QuotaName.UPLOADS_PER_DAY:
            used = of_all.filter(created_at__gte=day_begin(now)).count() + coming.count()
            found.append(Quota(name, limit, used, day_begin(now) + ONE_DAY))
        else:
            sizes = (of_all.filter(deleted_at=None), coming)
            size = sum(rows.aggregate(size=Sum("archive_bytes"))["size"] or 0 for rows in sizes)
            found.append(Quota(name, limit, size))
    return found


def quota_list(owner: User, environment: Environment, *, now: datetime) -> list[Quota]:
    """Return a person's limited quotas in an environment."""
    return quota_lists(owner, [environment], now=now)[0][1]


def quota_lists(
    owner: User, environments: Iterable[Environment], *, now: datetime
) -> list[tuple[Environment, list[Quota]]]:
    """As `quota_list`, for many environments with the same number of queries."""
    rows = list(environments)
    # Only environments with a limit are counted.
    counted = [row for row in rows if any(quota_limit(name, owner=owner, environment=row) for name in COUNTED)]
    usage = usage_by_environment(owner, now=now, environments=counted) if counted else {}
    return [(row, quotas(owner, row, usage.get(row.pk, Usage()), now=now)) for row in rows]


def quotas(owner: User, environment: Environment, usage: Usage, *, now: datetime) -> list[Quota]:
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


def usage_by_environment(
    owner: User, *, now: datetime, environments: Iterable[Environment], address_digest: str = ""
) -> dict[int, Usage]:
    """Return a person's usage by environment, with a fixed number of queries.

    address_digest: that of an anonymous client, whose uploads and versions in progress are counted separately.
    """
    wanted = [environment.pk for environment in environments]
    usage = {pk: Usage() for pk in wanted}
    submissions = Submission.objects.filter(agent__owner=owner, agent__environment__in=wanted).order_by()
    own = submissions.filter(address_digest=address_digest) if address_digest else submissions
    for submission in _uploads(own.filter(created_at__gte=day_begin(now))):
        row = usage[submission.agent.environment_id]
        row.uploads += 1
        row.spared += _is_spared(submission)
    for pk, count in _by_environment(in_progress(own), Count("pk")).items():
        usage[pk].jobs = count
    live = submissions.filter(deleted_at=None)
    for pk, size in _by_environment(live, Sum("archive_bytes")).items():
        usage[pk].storage_bytes = size
    active = active_agents(owner).filter(environment__in=wanted).order_by()
    for pk, count in active.values_list("environment").annotate(Count("pk")):
        usage[pk].agents = count
    for pk, (count, spared) in _challenges(owner, wanted, now=now).items():
        usage[pk].challenges, usage[pk].challenges_spared = count, spared
    return usage


def uploads_coming(owner: User, environment: Environment, *, now: datetime) -> QuerySet[UploadReservation]:
    """Return a person's uploads that are being inspected or stored; each holds a place in the quota."""
    # By its key, because a row that is not stored yet has no uploads either.
    return UploadReservation.objects.filter(owner=owner, environment=environment.pk, expires_at__gt=now)


def usage_coming(
    owner: User, environment: Environment, usage: Usage, *, now: datetime, address_digest: str = ""
) -> Usage:
    """Add the uploads in progress to a person's usage. address_digest: as in `usage_by_environment`."""
    for row in uploads_coming(owner, environment, now=now):
        is_own = not address_digest or row.address_digest == address_digest
        usage.uploads += is_own
        usage.jobs += is_own
        usage.storage_bytes += row.archive_bytes
        usage.agents += row.makes_agent
    return usage


def challenge_quota(owner: User, environment: Environment, *, now: datetime) -> Quota | None:
    """Return a person's quota of challenge duels, with one query; None without a limit."""
    limit = quota_limit(QuotaName.CHALLENGES_PER_DAY, owner=owner, environment=environment)
    if limit is None:
        return None
    count, spared = _challenges(owner, [environment.pk], now=now).get(environment.pk, (0, 0))
    charged = Usage(challenges=count, challenges_spared=spared).challenges_charged(limit)
    return Quota(QuotaName.CHALLENGES_PER_DAY, limit, charged, day_begin(now) + ONE_DAY)


def active_agents(owner: User) -> QuerySet[Agent]:
    """Return a person's agents with a version, without those disabled by organisers; quarantined ones may come back."""
    live = Submission.objects.filter(agent=OuterRef("pk"), deleted_at=None)
    return owner.agents.filter(Exists(live)).exclude(is_disabled=True, quarantined_at=None)


def in_progress(submissions: QuerySet[Submission]) -> QuerySet[Submission]:
    """Return submissions in a build, a validation or their first evaluation; the arena itself starts later ones."""
    of_row = {"submission": OuterRef("pk"), "state__in": OPEN}
    earlier = Evaluation.objects.filter(submission=OuterRef("submission"), pk__lt=OuterRef("pk"))
    return submissions.filter(
        Exists(Build.objects.filter(**of_row))
        | Exists(Validation.objects.filter(**of_row))
        | Exists(Evaluation.objects.filter(~Exists(earlier), **of_row))
    )


def _challenges(owner: User, environments: list[int], *, now: datetime) -> dict[int, tuple[int, int]]:
    """Return by environment the number of a person's unrated duels today, and how many are not charged."""
    today = day_begin(now)
    asked = Q(challenge__user=owner, challenge__created_at__gte=today) | Q(
        run__caller=owner, run__created_at__gte=today
    )
    rows = Duel.objects.filter(asked).order_by()
    of_environment = rows.filter(player_1__agent__environment__in=environments)
    found = of_environment.values_list("player_1__agent__environment").annotate(
        count=Count("pk"), spared=Count("pk", filter=SPARED)
    )
    return {pk: (count, spared) for pk, count, spared in found}


def _uploads(rows: QuerySet[Submission]) -> QuerySet[Submission]:
    """Load the jobs that decide whether uploads count, without their long columns."""
    models: dict[str, Any] = {"builds": Build, "validations": Validation, "evaluations": Evaluation}
    jobs = [
        Prefetch(name, model.objects.only("submission", "state", "fault", "created_at", "cancel_code", "started_at"))
        for name, model in models.items()
    ]
    return rows.select_related("agent").prefetch_related(*jobs)


def _is_spared(submission: Submission) -> bool:
    """Return whether an upload is not charged: the arena failed on its last phase, or organisers cancelled that."""
    job = decisive_job(submission)
    if job is None:
        return False
    if job.state == JobState.CANCELLED and job.cancel_code == CancelCode.BY_OWNER:
        # Only spared if no work on it has begun.
        phases = (*submission.builds.all(), *submission.validations.all(), *submission.evaluations.all())
        return all(phase.started_at is None for phase in phases)
    if job.state == JobState.CANCELLED:
        # A deletion by the owner cancels it as well.
        return submission.deleted_at is None
    return job.state == JobState.FAILED and job.fault == JobFault.PLATFORM


def _by_environment(rows: QuerySet[Submission], figure: Count | Sum) -> Mapping[int, int]:
    return dict(rows.values_list("agent__environment").annotate(figure))


def _first(*numbers: int | None) -> int | None:
    return next((number for number in numbers if number is not None), None)
