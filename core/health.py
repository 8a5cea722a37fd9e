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
from core.services.jobs import JOB_MODELS, QUEUES_AND_TASKS

logger = logging.getLogger(__name__)

HEALTHY, UNHEALTHY, NOT_USED = "healthy", "unhealthy", "not used"
STUCK_AFTER = timedelta(minutes=5)
"""A job that waits so long while nothing of its queue is done waits for workers that are not there."""


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
    long_ago = now - STUCK_AFTER
    # One that has rested is woken by the watchdog, which takes its time.
    rested = Q(not_before=None) | Q(not_before__lt=long_ago)
    waiting, busy = {}, set()
    for kind, model in JOB_MODELS.items():
        jobs, queue = model._default_manager, QUEUES_AND_TASKS[kind][0]
        if jobs.filter(rested, state=JobState.QUEUED, created_at__lt=long_ago).exists():
            waiting[queue] = kind
        if jobs.filter(state=JobState.RUNNING, lease_expires_at__gt=now).exists():
            # The same workers do all kinds of a queue.
            busy.add(queue)
    for queue, kind in waiting.items():
        if queue not in busy:
            raise _Unhealthy(f"waiting for more than {STUCK_AFTER}, with no worker of the queue {queue}: {kind}")


def _storage() -> None:
    if not isinstance(default_storage, FileSystemStorage):
        default_storage.exists("health")
        return
    folder = Path(default_storage.location)
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK):
        raise _Unhealthy(f"{folder} cannot be written to")
