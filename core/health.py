"""Whether the arena works, part by part."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import connection
from django.db.models import Q

from core.cache import SteadyRedisCache
from core.models import JobState
from core.queues import waiting_count
from core.services.jobs import JOB_MODELS

logger = logging.getLogger(__name__)

HEALTHY, UNHEALTHY, NOT_USED = "healthy", "unhealthy", "not used"
STUCK_AFTER = timedelta(minutes=5)
"""A job that waits so long while nobody does any of its kind waits for workers that are not there."""


def health_components(*, now: datetime) -> dict[str, str]:
    """HEALTHY, UNHEALTHY or NOT_USED for each part, by the names that monitors of other systems know."""
    return {
        "database": _state(_database),
        "redis": _state(_redis) if settings.REDIS_URL else NOT_USED,
        "broker": _state(lambda: waiting_count(settings.QUEUES[0])),
        "celery_workers": _state(lambda: _workers(now)),
        "storage": _state(_storage),
    }


class _Unhealthy(Exception):
    """Why."""


def _state(check: Callable[[], object]) -> str:
    try:
        check()
    # Whatever goes wrong is what is asked for.
    except Exception as error:
        logger.warning("Not healthy: %s: %s", type(error).__name__, error)
        return UNHEALTHY
    return HEALTHY


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _redis() -> None:
    # Behind the cache that does without it when it has to.
    SteadyRedisCache(settings.REDIS_URL, settings.CACHES["default"]).shared.get("health")


def _workers(now: datetime) -> None:
    rested = Q(not_before=None) | Q(not_before__lte=now)
    for kind, model in JOB_MODELS.items():
        jobs = model._default_manager
        waits = jobs.filter(rested, state=JobState.QUEUED, created_at__lt=now - STUCK_AFTER)
        runs = jobs.filter(state=JobState.RUNNING, lease_expires_at__gt=now)
        if waits.exists() and not runs.exists():
            raise _Unhealthy(f"a {kind} has waited for more than {STUCK_AFTER} and no worker does any")


def _storage() -> None:
    if not isinstance(default_storage, FileSystemStorage):
        default_storage.exists("health")
        return
    folder = Path(default_storage.location)
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK):
        raise _Unhealthy(f"{folder} cannot be written to")
