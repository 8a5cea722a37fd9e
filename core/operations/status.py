"""The status of the arena for its operators: queues, workers, running and stuck jobs, disks and versions."""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import django
from django.conf import settings
from django.db import connection
from django.db.models import Count, Q, QuerySet, Value
from django.utils import timezone
from django_q.brokers import get_broker

from core.jobs.kinds import JOB_MODELS
from core.jobs.states import OPEN
from core.jobs.waits import WaitCode, waits_of
from core.jobs.worker_selectors import worker_rows
from core.lookup import ByKey, moment_read
from core.models import Alarm, Duty, Job, JobState, Tournament, TournamentState
from core.operations.keys import NAME as KEY
from core.operations.queue_status import QueueStatus, queue_statuses
from core.version import arena_version

STUCK_SHOWN = 10
"""Maximum number of stuck jobs of a kind that are listed, oldest first."""
NEEDED = ("state", "attempt", "sort_key", "not_before", "lease_expires_at", "error_code", "created_at")
ENGINE_SECONDS = 5
STALE_AFTER = timedelta(minutes=3)
"""The watchdog looks every half minute; after this long without a look it counts as stopped."""


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that a worker runs."""

    kind: str
    id: int
    worker: str
    attempt: int
    started_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunningTournament:
    """A running tournament. open: its waiting and running duels. note: why a ladder makes no pairs."""

    name: str
    format: str
    started_at: datetime | None
    played: int
    open: int
    note: str


@dataclass(frozen=True, slots=True)
class StuckJob:
    """A job that is delayed after a fault, or that waiting alone does not help."""

    kind: str
    id: int
    code: str
    sentence: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """A worker that has not ended in order. trouble: its current engine error, or its last fault."""

    name: str
    queue: str
    state: str
    seen_at: datetime
    started_at: datetime
    job_kind: str
    job_id: int | None
    jobs_done: int
    faults: int
    trouble: str
    version: str
    python: str
    engine: str


@dataclass(frozen=True, slots=True)
class OpenAlarm:
    """A problem that an organiser must look at."""

    key: str
    message: str
    raised_at: datetime


@dataclass(frozen=True, slots=True)
class Disk:
    """The file system of one of the arena's folders."""

    folder: str
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of the arena and its services. engine: empty where none is needed or none answers."""

    arena: str
    python: str
    django: str
    database: str
    broker: str
    sandbox: str
    engine: str
    engine_error: str


@dataclass(frozen=True, slots=True)
class ArenaStatus:
    """The whole status at one moment."""

    now: datetime
    versions: Versions
    watched_at: datetime | None
    watched_by: str
    queues: list[QueueStatus]
    workers: list[WorkerStatus]
    running: list[RunningJob]
    tournaments: list[RunningTournament]
    stuck: list[StuckJob]
    alarms: list[OpenAlarm]
    disks: list[Disk]


def status() -> ArenaStatus:
    """Collect the whole status once."""
    duty = _duties().order_by("-done_at").first()
    return ArenaStatus(
        now=timezone.now(),
        versions=_versions(),
        watched_at=duty.done_at if duty else None,
        watched_by=duty.worker if duty else "",
        queues=queue_statuses(),
        workers=_workers(),
        running=running_list(),
        tournaments=_tournaments(),
        stuck=_stuck(),
        alarms=[OpenAlarm(row.key, row.message, row.raised_at) for row in Alarm.objects.filter(settled_at=None)],
        disks=arena_disks(),
    )


def _tournaments() -> list[RunningTournament]:
    counted = Tournament.objects.filter(state=TournamentState.RUNNING).annotate(
        played=Count("duels", filter=Q(duels__state=JobState.SUCCEEDED)),
        open=Count("duels", filter=Q(duels__state__in=OPEN)),
    )
    return [
        RunningTournament(str(row), row.format, row.started_at, row.played, row.open, row.shortfall)
        for row in counted.select_related("environment").order_by("pk")
    ]


def watchdog_runs() -> bool:
    """Return whether any worker has checked the queues recently."""
    return _duties().filter(done_at__gte=timezone.now() - STALE_AFTER).exists()


def _duties() -> QuerySet[Duty]:
    """Return what workers do again and again; the fingerprint of the key, which they do not write, is left out."""
    return Duty.objects.exclude(name=KEY)


def _workers() -> list[WorkerStatus]:
    names = [field for field in WorkerStatus.__slots__ if field != "trouble"]
    rows = worker_rows().filter(stopped_at=None).values(*names, "engine_error", "last_fault")
    return [
        WorkerStatus(trouble=row["engine_error"] or row["last_fault"], **{name: row[name] for name in names})
        for row in rows
    ]


def running_list() -> list[RunningJob]:
    """Return all running jobs by kind, those of a kind that have run longest first."""
    kinds = list(JOB_MODELS)
    jobs = [
        RunningJob(kind, pk, worker, attempt, moment_read(started) if started else None)
        for kind, pk, worker, attempt, started in RUNNING()
    ]
    return sorted(jobs, key=lambda job: (kinds.index(job.kind), job.started_at or datetime.max.replace(tzinfo=UTC)))


def _running() -> Any:
    first, *others = (
        model._base_manager.filter(state=JobState.RUNNING)
        .order_by()
        .values_list(Value(model.KIND), "pk", "worker", "attempt", "started_at")
        for model in JOB_MODELS.values()
    )
    return first.union(*others, all=True)


RUNNING = ByKey(_running)


def _stuck() -> list[StuckJob]:
    """Return the oldest jobs that are delayed after a fault, have lost their worker, or are in a blocked line."""
    candidates: list[Job] = []
    for model in JOB_MODELS.values():
        rows = model._base_manager.order_by("pk").only(*NEEDED)
        waiting = rows.filter(state=JobState.QUEUED)
        # Separate queries, because a line of thousands would hide delayed jobs.
        candidates += waiting.filter(not_before__isnull=False)[:STUCK_SHOWN]
        candidates += waiting.filter(not_before=None)[:STUCK_SHOWN]
        candidates += rows.filter(state=JobState.RUNNING, lease_expires_at__lt=timezone.now())[:STUCK_SHOWN]
    waits = waits_of(candidates)
    found = ((job, waits.get((job.KIND, job.pk))) for job in candidates)
    return [
        StuckJob(job.KIND, job.pk, wait.code.value, wait.sentence, job.created_at)
        for job, wait in found
        if wait is not None and wait.code not in (WaitCode.IN_LINE, WaitCode.PERSONS_TURN)
    ]


def arena_disks() -> list[Disk]:
    """Return each file system of the arena's folders once, by the first of the folders on it."""
    found: dict[int, Disk] = {}
    for folder in (settings.DATA_DIR, settings.MEDIA_ROOT, settings.CHANNEL_DIR):
        there = next(path for path in (folder, *folder.parents) if path.exists())
        usage = shutil.disk_usage(there)
        found.setdefault(there.stat().st_dev, Disk(str(folder), usage.total, usage.free))
    return list(found.values())


def _versions() -> Versions:
    engine = error = ""
    if settings.SANDBOX == "docker":
        # Imported here: the engine's client takes long to load.
        from arena_kit.image.engine import NoEngine, engine_version

        try:
            engine = engine_version(ENGINE_SECONDS)
        except NoEngine as reason:
            error = str(reason)
    return Versions(
        arena=arena_version(),
        python=platform.python_version(),
        django=django.get_version(),
        database=_database(),
        broker=str(get_broker().info()),
        sandbox=settings.SANDBOX,
        engine=engine,
        engine_error=error,
    )


def _database() -> str:
    numbers = connection.get_database_version()
    return f"{connection.display_name} {'.'.join(map(str, numbers))}"
