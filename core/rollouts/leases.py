"""The worlds that workers hold, as rows for pages and operators. The lease itself is a locked file on the host."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from core.models import Rollout, WorldLease

KEPT = timedelta(days=30)


def world_opened(
    *,
    token: str,
    rollout: Rollout,
    host: str,
    worker: str,
    memory_bytes: int,
    deadline: float,
) -> WorldLease:
    """Note that a worker holds a world. deadline: seconds since 1970 at which any reaper may remove it."""
    return WorldLease.objects.create(
        token=token,
        rollout=rollout,
        host=host[:80],
        worker=worker[:100],
        memory_bytes=memory_bytes,
        deadline_at=datetime.fromtimestamp(deadline, UTC),
    )


def world_closed(*, token: str) -> None:
    """Note that the containers of a world are gone."""
    WorldLease.objects.filter(token=token, closed_at=None).update(closed_at=timezone.now())


def worlds_settle(*, host: str, alive: Collection[str], before: datetime | None = None) -> int:
    """Close the rows of a host's worlds whose workers are gone, after its reaping; drop old rows. Return how many.

    alive: the tokens of the worlds whose workers live. before: when they were listed; later rows stay open.
    """
    now = timezone.now()
    WorldLease.objects.filter(closed_at__lt=now - KEPT).delete()
    # A row is written after its lease is taken, so one that is not alive now is gone for good.
    gone = worlds_open().filter(host=host[:80], opened_at__lt=before or now).exclude(token__in=alive)
    return gone.update(closed_at=now)


def worlds_open() -> QuerySet[WorldLease]:
    """Return the worlds that are open by their rows."""
    return WorldLease.objects.filter(closed_at=None).select_related("rollout")
