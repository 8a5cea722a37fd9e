"""Quota checks, made under a lock so that two uploads never take the same last place."""

from __future__ import annotations

import math
from datetime import datetime

from django.db import connection
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.crypto import salted_hmac

from core.addresses import network_of
from core.errors import QuotaExceeded, Refused
from core.jobs.locks import name_lock
from core.models import Agent, Environment, QuotaName, User
from core.people.quota_selectors import Quota, challenge_quota, quotas, quotas_shared
from core.people.quota_usage import day_begin, usage_by_environment

DIGEST_CHARACTERS = 32
JOBS_RETRY_SECONDS = 30
"""How soon a version in progress may be finished."""
CLOSED = "This account is closed."
ACCOUNT_CLOSED = "account_closed"


def owner_lock(owner: User) -> User:
    """Lock a person's row until the transaction ends, so that simultaneous uploads are decided one after the other.

    Lock it before any agent, see `core.jobs.locks`. Raises Refused when the account is closed.
    """
    locked = User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    if not locked.is_active:
        raise Refused(CLOSED, code=ACCOUNT_CLOSED)
    return locked


def upload_lock(*, owner: User, environment: Environment, address_digest: str = "") -> User:
    """Make uploads that share a quota wait for each other until the transaction ends.

    A person's uploads share the lock of `owner_lock`. Anonymous clients share only the lock of their address, and a
    lock of the environment if it has a quota for all of them together. Raises Refused when the account is closed.
    """
    if not owner.is_system:
        return owner_lock(owner)
    locked = owner_share(owner)
    if quotas_shared(locked, environment, now=timezone.now()):
        name_lock(f"quotas anonymous {environment.pk}")
    name_lock(f"quotas client {environment.pk} {address_digest}")
    return locked


def owner_share(owner: User) -> User:
    """Share-lock a person's row, so that the account is not closed before the transaction ends. Raises Refused."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            table = connection.ops.quote_name(User._meta.db_table)
            cursor.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR SHARE", [owner.pk])  # noqa: S608  (a name of ours)
    found = User.objects.get(pk=owner.pk)
    if not found.is_active:
        raise Refused(CLOSED, code=ACCOUNT_CLOSED)
    return found


def quota_check(
    *,
    owner: User,
    environment: Environment,
    archive_bytes: int,
    makes_agent: bool,
    address_digest: str = "",
    now: datetime | None = None,
) -> None:
    """Raise QuotaExceeded unless a person whose row is locked may upload an archive of this size.

    environment: may be one that is not stored yet. makes_agent: whether the upload adds an active agent.
    """
    now = now or timezone.now()
    usage = usage_by_environment(owner, now=now, environments=[environment], address_digest=address_digest)
    for quota in quotas(owner, environment, usage[environment.pk], now=now):
        _check(quota, environment, archive_bytes, makes_agent=makes_agent, now=now)
    if owner.is_system:
        for quota in quotas_shared(owner, environment, now=now):
            _check(quota, environment, archive_bytes, makes_agent=makes_agent, now=now, whose="all anonymous clients")


def challenge_quota_check(
    *, owner: User, environment: Environment, duel_count: int, what: str = "challenge", now: datetime | None = None
) -> None:
    """Raise QuotaExceeded unless a person whose row is locked may ask for so many duels. what: for the sentence."""
    now = now or timezone.now()
    quota = challenge_quota(owner, environment, now=now)
    if quota is None or quota.left is None or duel_count <= quota.left:
        return
    assert quota.resets_at is not None
    asked = "one duel" if duel_count == 1 else f"{duel_count} duels"
    raise QuotaExceeded(
        f"This {what} needs {asked}, but {quota.left or 'none'} of your {quota.limit} a day in {environment} "
        f"{'is' if quota.left == 1 else 'are'} left. The next day begins at 00:00 UTC. Duels that failed through the "
        "arena's fault do not count.",
        code=f"quota_{quota.name.value}",
        retry_after_seconds=math.ceil((quota.resets_at - now).total_seconds()),
    )


def makes_agent_active(agent: Agent) -> bool:
    """Return whether an agent has no version, so that a new version makes it count again."""
    return not agent.submissions.filter(deleted_at=None).exists()


def address_digest(address: str, *, now: datetime) -> str:
    """Return the key of an anonymous client's quota: it hides the address and changes every day."""
    return salted_hmac("core.quotas", f"{day_begin(now):%Y-%m-%d} {network_of(address)}").hexdigest()[
        :DIGEST_CHARACTERS
    ]


def _check(
    quota: Quota,
    environment: Environment,
    archive_bytes: int,
    *,
    makes_agent: bool,
    now: datetime,
    whose: str = "",
) -> None:
    of_whom = f" of {whose}" if whose else ""
    code = f"quota_{quota.name.value}"
    limit, left = quota.limit, quota.left
    assert limit is not None, "only what is limited is listed"
    match quota.name:
        case QuotaName.UPLOADS_PER_DAY if quota.is_used_up:
            assert quota.resets_at is not None
            raise QuotaExceeded(
                f"Daily submission quota exceeded: the {limit} uploads a day{of_whom} to {environment} are used up. "
                "The next day begins at 00:00 UTC. Uploads that failed through the arena's fault do not count.",
                code=code,
                retry_after_seconds=math.ceil((quota.resets_at - now).total_seconds()),
            )
        case QuotaName.ACTIVE_AGENTS if makes_agent and quota.is_used_up:
            raise QuotaExceeded(
                f"You have {quota.used} agents in {environment}, and the maximum is {limit}. Upload a new version of "
                "one of them, or delete all versions of one.",
                code=code,
            )
        case QuotaName.STORAGE_BYTES if left is not None and archive_bytes > left:
            raise QuotaExceeded(
                f"This archive has {filesizeformat(archive_bytes)}, but only {filesizeformat(left)} of the "
                f"{filesizeformat(limit)}{of_whom} for {environment} are left. "
                + ("Please try again later." if whose else "Delete versions that you no longer need."),
                code=code,
            )
        case QuotaName.CONCURRENT_JOBS if quota.is_used_up:
            raise QuotaExceeded(
                f"{quota.used} of your versions for {environment} are still being built, validated or evaluated, and "
                f"the maximum is {limit} at once. Please wait until one of them is done.",
                code=code,
                retry_after_seconds=JOBS_RETRY_SECONDS,
            )
        case QuotaName.UPLOAD_BYTES if archive_bytes > limit:
            raise QuotaExceeded(
                f"This archive has {filesizeformat(archive_bytes)}; {environment} accepts at most "
                f"{filesizeformat(limit)}.",
                code=code,
            )
