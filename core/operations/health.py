"""Whether the arena works, part by part. Every answer comes in time, also of a part that hangs."""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import connection, connections
from django.db.models import Q

from core.cache import SteadyRedisCache
from core.jobs.bells import waiting_count
from core.jobs.kinds import JOB_MODELS
from core.jobs.registry import queue_of
from core.jobs.worker_selectors import workers_alive
from core.models import JobState
from core.operations.status import STALE_AFTER, watchdog_runs

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")

HEALTHY, UNHEALTHY, NOT_USED = "healthy", "unhealthy", "not used"
STUCK_AFTER = timedelta(minutes=5)
"""A job that waits so long while nothing of its queue is done waits for workers that are not there."""
PATIENCE_SECONDS = 2.0
"""How long all checks together may take: a part that is not heard of by then does not work."""

_asked: dict[str, Future[object]] = {}
_asked_lock = threading.Lock()


def health_components(*, now: datetime) -> dict[str, str]:
    """HEALTHY, UNHEALTHY or NOT_USED for each part, by the names that monitors of other systems know.

    broker: the queue of messages. celery_workers: whoever does the jobs. watchdog: who calls for help when they stand
    still.
    """
    checks: dict[str, Callable[[], object]] = {
        "database": _database,
        "redis": _redis,
        "broker": lambda: waiting_count(settings.QUEUES[0]),
        "celery_workers": lambda: _workers(now),
        "watchdog": _watchdog,
        "engine": _engine,
        "storage": _storage,
    }
    unused = {"redis": not settings.REDIS_URL, "engine": settings.SANDBOX != "docker"}
    found = ask_all({name: check for name, check in checks.items() if not unused.get(name)})
    for name, answer in found.items():
        if isinstance(answer, Exception):
            logger.warning("Not healthy: %s: %s: %s", name, type(answer).__name__, answer)
    states = {name: UNHEALTHY if isinstance(answer, Exception) else HEALTHY for name, answer in found.items()}
    return {name: states.get(name, NOT_USED) for name in checks}


def ask_all(questions: Mapping[str, Callable[[], Answer]]) -> dict[str, Answer | Exception]:
    """The answers by name, or what went wrong, all of them within PATIENCE_SECONDS.

    Each is asked in a thread of its own. No question is asked again while it has not been answered, so that a part
    that hangs for hours holds one thread of this process, and every further caller waits for that one.
    """
    futures = {name: _ask(name, question) for name, question in questions.items()}
    deadline = time.monotonic() + PATIENCE_SECONDS
    found: dict[str, Answer | Exception] = {}
    for name, future in futures.items():
        try:
            found[name] = future.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            found[name] = _Unhealthy(f"no answer within {PATIENCE_SECONDS:g} s")
        # Whatever goes wrong is what is asked for.
        except Exception as error:
            found[name] = error
    return found


class _Unhealthy(Exception):
    """Why."""


def _ask(name: str, question: Callable[[], Answer]) -> Future[Answer]:
    with _asked_lock:
        open_one = _asked.get(name)
        if open_one is not None and not open_one.done():
            return open_one  # type: ignore[return-value]  # a name stands for one question
        future: Future[Answer] = Future()
        _asked[name] = future  # type: ignore[assignment]  # as above
    threading.Thread(target=_run, args=(future, question), name=f"health-{name}", daemon=True).start()
    return future


def _run(future: Future[Answer], question: Callable[[], Answer]) -> None:
    try:
        answer = question()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(answer)
    finally:
        # This thread's own.
        connections.close_all()


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _redis() -> None:
    # Behind the cache that does without it when it has to.
    SteadyRedisCache(settings.REDIS_URL, settings.CACHES["default"]).shared.get("health")


def _workers(now: datetime) -> None:
    if not workers_alive().exists():
        raise _Unhealthy("no worker lives: start them with `manage.py run_workers`, or `qcluster` for one queue")
    long_ago = now - STUCK_AFTER
    # One that has rested is woken by the watchdog, which takes its time.
    rested = Q(not_before=None) | Q(not_before__lt=long_ago)
    waiting, busy = {}, set()
    for kind, model in JOB_MODELS.items():
        jobs, queue = model._default_manager, queue_of(model)
        if jobs.filter(rested, state=JobState.QUEUED, created_at__lt=long_ago).exists():
            waiting[queue] = kind
        # The same workers do all kinds of a queue. Between two jobs nothing runs for a moment.
        done = Q(state=JobState.RUNNING, lease_expires_at__gt=now) | Q(state=JobState.SUCCEEDED, ended_at__gt=long_ago)
        if jobs.filter(done).exists():
            busy.add(queue)
    for queue, kind in waiting.items():
        if queue not in busy:
            raise _Unhealthy(f"waiting for more than {STUCK_AFTER}, with no worker of the queue {queue}: {kind}")


def _watchdog() -> None:
    if not watchdog_runs():
        raise _Unhealthy(f"no worker has watched over the queues for {STALE_AFTER}: see the workers' logs")


def _engine() -> None:
    """Those who need the engine say whether it answers; the site may not even see its socket."""
    failing = workers_alive().exclude(engine_error="").values_list("name", "engine_error").first()
    if failing is not None:
        raise _Unhealthy("{}: {}".format(*failing))


def _storage() -> None:
    if not isinstance(default_storage, FileSystemStorage):
        default_storage.exists("health")
        return
    folder = Path(default_storage.location)
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK):
        raise _Unhealthy(f"{folder} cannot be written to")
    free = shutil.disk_usage(folder).free
    if free < settings.MAX_UPLOAD_BYTES:
        raise _Unhealthy(f"{folder} has {free:,} bytes left, less than an upload may need (MAX_UPLOAD_BYTES)")
