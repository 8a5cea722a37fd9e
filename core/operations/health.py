"""The health of the arena, component by component. Monitors are answered in time even if one hangs."""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar, cast

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connections
from django.db.models import Q, Value
from django.db.models.functions import Now

from core.cache.answers import cached
from core.jobs.kinds import JOB_MODELS
from core.jobs.messages import waiting_count
from core.jobs.registry import queue_of
from core.jobs.worker_selectors import workers_alive
from core.lookup import ByKey
from core.models import Alarm, Duel, Evaluation, JobState, Validation
from core.operations.certificate import ALARM as CERTIFICATE_ALARM
from core.operations.disks import store_folder
from core.operations.status import STALE_AFTER, watchdog_runs
from core.operations.writable import database_write

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")

HEALTHY, UNHEALTHY, NOT_USED = "healthy", "unhealthy", "not used"
COMPONENTS = ("database", "redis", "broker", "celery_workers", "watchdog", "engine", "storage", "certificate")
STUCK_AFTER = timedelta(minutes=5)
"""Waiting time after which a job, while its queue finishes nothing, counts as a sign of missing workers."""
PATIENCE_SECONDS = 2.0
"""Time limit for all checks together; a component that does not answer by then is unhealthy."""

_asked: dict[str, Future[object]] = {}
_asked_lock = threading.Lock()


def health_lately() -> tuple[dict[str, str], int | None]:
    """Return `health_report`, made at most a second ago, or the last one while another caller makes the next."""
    return cached("health", tuple[dict[str, str], int | None], health_report)


def health_report() -> tuple[dict[str, str], int | None]:
    """Return the state of each component, and how many jobs play now; None when the database does not answer.

    The state is HEALTHY, UNHEALTHY or NOT_USED, by the names that existing monitors know.

    broker: the message queue. celery_workers: the workers. watchdog: what raises an alarm when queues stand still.
    certificate: of SITE_URL, as a worker has seen it within the last hour.
    """
    jobs: dict[str, Callable[[], object]] = {"celery_workers": _workers, "playing": playing_count}
    found = ask_all(*_probes(), jobs, _small_tables())
    playing = found.pop("playing")
    return _states(found), playing if isinstance(playing, int) else None


def health_components() -> dict[str, str]:
    """Return the components of `health_report` to a page that reads the same tables itself.

    What they say is read over the caller's connection, while threads ask the rest. Raises errors of the database.
    """
    return _states(ask_all(*_probes(), here={**_small_tables(), "celery_workers": _workers}))


def _probes() -> tuple[dict[str, Callable[[], object]], ...]:
    redis: dict[str, Callable[[], object]] = {"redis": _redis} if settings.REDIS_URL else {}
    return {"database": database_write}, redis, {"storage": _storage}


def _small_tables() -> dict[str, Callable[[], object]]:
    found: dict[str, Callable[[], object]] = {"watchdog": _watchdog}
    if settings.SANDBOX != "process":
        found["engine"] = _engine
    if settings.SITE_URL.startswith("https://"):
        found["certificate"] = _certificate
    return {**found, "broker": lambda: waiting_count(settings.QUEUES[0])}


def _states(found: Mapping[str, object]) -> dict[str, str]:
    for name, answer in found.items():
        if isinstance(answer, Exception):
            logger.warning("Not healthy: %s: %s: %s", name, type(answer).__name__, answer)
    states = {name: UNHEALTHY if isinstance(answer, Exception) else HEALTHY for name, answer in found.items()}
    return {name: states.get(name, NOT_USED) for name in COMPONENTS}


def ask_all(
    *groups: Mapping[str, Callable[[], Answer]], here: Mapping[str, Callable[[], Answer]] | None = None
) -> dict[str, Answer | Exception]:
    """Return the answers, or the exceptions, by name within PATIENCE_SECONDS.

    Each group is asked in its own thread, one question after the other, over one connection to the database. A question
    is not asked again before it has been answered, so a component that hangs for hours holds one thread of this
    process, and every further caller waits for that thread.

    here: questions that the caller's own thread asks meanwhile, for which it waits as long as they take; of what they
    raise only `_Unhealthy` is an answer.
    """
    futures = {name: future for group in groups for name, future in _ask(group).items()}
    deadline = time.monotonic() + PATIENCE_SECONDS
    found: dict[str, Answer | Exception] = {}
    for name, question in (here or {}).items():
        try:
            found[name] = question()
        except _Unhealthy as error:
            found[name] = error
    for name, future in futures.items():
        try:
            found[name] = future.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            found[name] = _Unhealthy(f"no answer within {PATIENCE_SECONDS:g} s")
        # Any exception of a question is its answer.
        except Exception as error:
            found[name] = error
    return found


class _Unhealthy(Exception):
    """The reason why a component is unhealthy."""


def _ask(group: Mapping[str, Callable[[], Answer]]) -> dict[str, Future[Answer]]:
    """Return an open answer to each question; starts a thread for those that are not being asked."""
    with _asked_lock:
        new = {name: Future[object]() for name in group if name not in _asked or _asked[name].done()}
        _asked.update(new)
        futures = {name: cast("Future[Answer]", _asked[name]) for name in group}
    if new:
        asked = [(future, group[name]) for name, future in new.items()]
        try:
            threading.Thread(target=_run, args=(asked,), name=f"health-{'-'.join(new)}", daemon=True).start()
        except RuntimeError as error:
            for future in new.values():
                future.set_exception(error)
    return futures


def _run(asked: Sequence[tuple[Future[object], Callable[[], object]]]) -> None:
    try:
        for future, question in asked:
            try:
                future.set_result(question())
            except BaseException as error:
                future.set_exception(error)
                # A broken one would fail the next question too.
                with suppress(Exception):
                    connections.close_all()
    finally:
        # Closes only this thread's connections.
        connections.close_all()


def playing_count(state: JobState = JobState.RUNNING) -> int:
    """Return the number of jobs in which submissions act, by default of those that run."""
    return sum(model._base_manager.filter(state=state).count() for model in (Duel, Validation, Evaluation))


def _redis() -> None:
    # Imported here: only an arena with Redis loads its client.
    from core.cache.redis import SteadyRedisCache

    # Asks Redis directly, behind the cache that survives its outage.
    SteadyRedisCache(settings.REDIS_URL, settings.CACHES["default"]).shared.get("health")


def _workers() -> None:
    if not workers_alive().exists():
        raise _Unhealthy("no worker is alive: start them with `manage.py run_workers`")
    # The same workers serve all kinds of a queue, and for a moment between two jobs nothing runs.
    done = Q(state=JobState.RUNNING, lease_expires_at__gt=Now()) | Q(
        state=JobState.SUCCEEDED, ended_at__gt=Now() - STUCK_AFTER
    )
    for queue, kind in {queue_of(JOB_MODELS[kind]): kind for (kind,) in LATE()}.items():
        models = (model for model in JOB_MODELS.values() if queue_of(model) == queue)
        if not any(model._base_manager.filter(done).exists() for model in models):
            raise _Unhealthy(f"waiting for more than {STUCK_AFTER}, with no worker of the queue {queue}: {kind}")


def _late() -> Any:
    """Return the kinds of which a job has waited for long."""
    long_ago = Now() - STUCK_AFTER
    # The watchdog wakes jobs whose delay is over, and may take as long as it takes.
    late = Q(state=JobState.QUEUED) & (Q(not_before=None) | Q(not_before__lt=long_ago))
    first, *others = (
        model._base_manager.filter(
            pk__in=model._base_manager.filter(late, **{f"{model.WAITS_SINCE}__lt": long_ago})
            .order_by()
            .values("pk")[:1]
        )
        .order_by()
        .values_list(Value(kind))
        for kind, model in JOB_MODELS.items()
    )
    return first.union(*others, all=True)


LATE = ByKey(_late)


def _watchdog() -> None:
    if not watchdog_runs():
        raise _Unhealthy(f"no worker has checked the queues for {STALE_AFTER}: see the workers' logs")


def _engine() -> None:
    """Ask the workers' rows whether the engine answers; the site itself may not have access to its socket."""
    failing = workers_alive().exclude(engine_error="").values_list("name", "engine_error").first()
    if failing is not None:
        raise _Unhealthy("{}: {}".format(*failing))


def _certificate() -> None:
    alarm = Alarm.objects.filter(key=CERTIFICATE_ALARM, settled_at=None).first()
    if alarm is not None:
        raise _Unhealthy(alarm.message)


def _storage() -> None:
    folder = store_folder()
    if folder is None:
        default_storage.listdir("probes")
        return
    if not os.access(folder, os.W_OK):
        raise _Unhealthy(f"{folder} is not writable")
    free = shutil.disk_usage(folder).free
    if free < settings.MAX_UPLOAD_BYTES:
        raise _Unhealthy(f"{folder} has {free:,} bytes left, less than an upload may need (upload_bytes in QUOTAS)")
