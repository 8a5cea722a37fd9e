"""The use of quotas, counted from the rows themselves, so that no counter can go wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet, Sum

from core.jobs.phase_selectors import decisive_job
from core.jobs.states import OPEN
from core.lookup import Lookup
from core.models import (
    Agent,
    Build,
    CancelCode,
    Duel,
    Environment,
    Evaluation,
    JobFault,
    JobState,
    Submission,
    User,
    Validation,
)

SPARED = (Q(state=JobState.CANCELLED) & (~Q(cancel_code=CancelCode.BY_OWNER) | Q(started_at=None))) | Q(
    state=JobState.FAILED, fault=JobFault.PLATFORM
)
"""Duels of challenges and runs that are not charged."""


@dataclass(slots=True)
class QuotaUsage:
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


def usage_by_environment(
    owner: User, *, now: datetime, environments: Iterable[Environment], address_digest: str = ""
) -> dict[int, QuotaUsage]:
    """Return a person's usage by environment, without challenges, with a fixed number of queries.

    address_digest: that of an anonymous client, whose uploads and versions in progress are counted separately.
    """
    wanted = [environment.pk for environment in environments]
    usage = {pk: QuotaUsage() for pk in wanted}
    submissions = Submission.objects.filter(agent__owner=owner, agent__environment__in=wanted).order_by()
    # Checks before an upload have a limit of their own.
    submissions = submissions.filter(trial_opponent=None)
    own = Q(address_digest=address_digest) if address_digest else Q()
    today = own & Q(created_at__gte=day_begin(now))
    counted = submissions.values_list("agent__environment").annotate(
        uploads=Count("pk", filter=today), size=Sum("archive_bytes", filter=Q(deleted_at=None), default=0)
    )
    for pk, uploads, size in counted:
        usage[pk].uploads, usage[pk].storage_bytes = uploads, size
    for submission in _perhaps_spared(submissions.filter(today)):
        usage[submission.agent.environment_id].spared += _is_spared(submission)
    for pk, count in in_progress(submissions.filter(own)).values_list("agent__environment").annotate(Count("pk")):
        usage[pk].jobs = count
    active = active_agents(owner).filter(environment__in=wanted).order_by()
    for pk, count in active.values_list("environment").annotate(Count("pk")):
        usage[pk].agents = count
    return usage


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


def _duels(**asked: Any) -> QuerySet[Duel, Any]:
    """Return by environment the number of some duels, and how many of them are not charged."""
    rows = Duel.objects.filter(**asked).order_by().values("player_1__agent__environment")
    counted = rows.annotate(count=Count("pk"), spared=Count("pk", filter=SPARED))
    return counted.values_list("player_1__agent__environment", "count", "spared")


ASKED = Lookup(
    lambda owner, since, environments: _duels(
        challenge__user=owner,
        challenge__created_at__gte=since,
        challenge__assignment=None,
        player_1__agent__environment__in=environments,
    )
)
RUN = Lookup(
    lambda owner, since, environments: _duels(
        run__caller=owner, run__created_at__gte=since, player_1__agent__environment__in=environments
    )
)


def challenges_counted(owner: User, environments: list[int], *, now: datetime) -> dict[int, tuple[int, int]]:
    """Return by environment the number of a person's unrated duels today, and how many are not charged."""
    today, found = day_begin(now), dict[int, tuple[int, int]]()
    # A query for each: one with both conditions would read all duels.
    for asked in (ASKED, RUN):
        for key, count, spared in asked(owner.pk, today, tuple(environments)):
            earlier = found.get(key, (0, 0))
            found[key] = (earlier[0] + count, earlier[1] + spared)
    return found


def _perhaps_spared(rows: QuerySet[Submission]) -> QuerySet[Submission]:
    """Load uploads with a job that may spare them, and all their jobs without the long columns."""
    models: dict[str, Any] = {"builds": Build, "validations": Validation, "evaluations": Evaluation}
    spares = Q(state=JobState.CANCELLED) | Q(state=JobState.FAILED, fault=JobFault.PLATFORM)
    of_row = [Exists(model.objects.filter(spares, submission=OuterRef("pk"))) for model in models.values()]
    jobs = [
        Prefetch(name, model.objects.only("submission", "state", "fault", "created_at", "cancel_code", "started_at"))
        for name, model in models.items()
    ]
    rows = rows.filter(of_row[0] | of_row[1] | of_row[2])
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
