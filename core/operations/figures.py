"""Gauges of the arena at the moment of a scrape, in a few queries; everything else is counted where it happens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Count, Min, Q, TextField, Value
from django.db.models.functions import Now
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from core.jobs.kinds import JOB_MODELS
from core.jobs.registry import queue_of
from core.jobs.states import OPEN
from core.jobs.waits import AWAITS_PERSON
from core.jobs.worker_selectors import workers_alive
from core.models import Alarm, HostState, JobState, WorkerHost
from core.operations.health import UNHEALTHY, ask_all, health_lately
from core.version import arena_version

HOSTS = (HostState.CREATING, HostState.READY, HostState.DRAINING)
"""The states of hosts that count; those that are over are in the admin."""


@dataclass(frozen=True, slots=True)
class OpenJobs:
    """Waiting or running jobs of a kind. oldest: since when the oldest one has waited that could start now."""

    kind: str
    state: str
    count: int
    oldest: datetime | None


class ArenaFigures(Collector):
    """Gauges of the whole arena. Without a database they are left out, and `component_healthy` says why."""

    def collect(self) -> Iterator[Metric]:
        """Yield every gauge, within the time limit of the checks of /health."""
        now = timezone.now()
        health = GaugeMetricFamily("component_healthy", "1 if a component works, else 0.", labels=["component"])
        for component, state in health_lately()[0].items():
            health.add_metric([component], state != UNHEALTHY)
        yield health
        about = GaugeMetricFamily("arena_info", "Always 1, labelled with the version of the arena.", labels=["version"])
        about.add_metric([arena_version()], 1)
        yield about
        found = ask_all({"figures": _from_database})["figures"]
        if not isinstance(found, Exception):
            jobs, alive, alarms, hosts = found
            yield from _of_jobs(jobs, now)
            yield _of_workers(alive)
            yield GaugeMetricFamily("alarms_open", "Open alarms.", value=alarms)
            yield _of_hosts(hosts)


def open_jobs() -> list[OpenJobs]:
    """Return the waiting and running jobs by kind, with one query over the indexes of open jobs."""
    ready = Q(state=JobState.QUEUED) & (Q(not_before=None) | Q(not_before__lte=Now()))
    parts = [
        model._base_manager.filter(state__in=OPEN)
        .exclude(AWAITS_PERSON)
        .order_by()
        .values("state")
        .annotate(
            kind=Value(kind, output_field=TextField()), count=Count("pk"), oldest=Min(model.WAITS_SINCE, filter=ready)
        )
        .values_list("kind", "state", "count", "oldest")
        for kind, model in JOB_MODELS.items()
    ]
    return [OpenJobs(*row) for row in parts[0].union(*parts[1:], all=True)]


def _from_database() -> tuple[list[OpenJobs], dict[str, int], int, dict[str, int]]:
    alive = dict(workers_alive().order_by().values_list("queue").annotate(Count("pk")))
    hosts = WorkerHost.objects.filter(state__in=HOSTS).order_by().values_list("state").annotate(Count("pk"))
    return open_jobs(), alive, Alarm.objects.filter(settled_at=None).count(), dict(hosts)


def _of_jobs(found: list[OpenJobs], now: datetime) -> Iterator[Metric]:
    jobs = GaugeMetricFamily("jobs_open", "Waiting and running jobs.", labels=["kind", "state"])
    counts = {(row.kind, row.state): row.count for row in found}
    for kind in JOB_MODELS:
        for state in OPEN:
            jobs.add_metric([kind, state], counts.get((kind, state), 0))
    yield jobs
    age = GaugeMetricFamily(
        "queue_oldest_waiting_seconds", "Age of the oldest waiting job that could start now.", labels=["queue"]
    )
    ages = dict.fromkeys(map(queue_of, JOB_MODELS.values()), 0.0)
    for row in found:
        if row.oldest is not None:
            queue = queue_of(JOB_MODELS[row.kind])
            ages[queue] = max(ages[queue], (now - row.oldest).total_seconds())
    for queue, seconds in ages.items():
        age.add_metric([queue], seconds)
    yield age


def _of_workers(counts: dict[str, int]) -> Metric:
    alive = GaugeMetricFamily("workers_alive", "Worker processes with a recent heartbeat.", labels=["queue"])
    for queue in dict.fromkeys((*settings.QUEUES, *counts)):
        alive.add_metric([queue], counts.get(queue, 0))
    return alive


def _of_hosts(counts: dict[str, int]) -> Metric:
    hosts = GaugeMetricFamily("scaler_hosts", "Hosts that the arena has created.", labels=["state"])
    for state in HOSTS:
        hosts.add_metric([state], counts.get(state, 0))
    return hosts
