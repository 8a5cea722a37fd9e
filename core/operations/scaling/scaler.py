"""Looks at work and hosts once a minute, and does what the decision says. Rows are the truth about hosts."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Q
from django.db.models.functions import Now

from core.jobs.apart import apart
from core.jobs.heartbeat import BEAT_SECONDS
from core.jobs.worker_selectors import workers_alive
from core.models import HostState, WorkerHost
from core.monitoring.metrics import SCALER_FAILURES, SCALER_WANTED
from core.notices.alarms import alarm_raise, alarm_settle
from core.operations.scaling.decision import Decision, Host, Policy, decide
from core.operations.scaling.providers import Provider, ProviderFailed
from core.operations.scaling.work import fixed_slots, jobs_running, open_work
from core.operations.watchdog import duty_take

logger = logging.getLogger(__name__)

DUTY = "scaling"
LOOK_SECONDS = 60
CREATION = timedelta(minutes=10)
"""A host whose workers are not heard of by then has failed."""
SILENCE = timedelta(seconds=3 * BEAT_SECONDS)
"""By then the workers of a host have read that it is drained, and have stored what they had begun."""
FAILURES = 5
"""Looks in a row that a provider may fail before organisers hear of it."""
ALARM = "scaling-provider-fails"
OPEN = (HostState.CREATING, HostState.READY, HostState.DRAINING)
STAYING = (HostState.CREATING, HostState.READY)


class Scaler:
    """Keeps the number of hosts right. One process at a time looks; what it remembers is only for slowness."""

    def __init__(self, provider: Provider, policy: Policy, *, kind: str, queues: list[str], worker: str) -> None:
        self._provider, self._policy = provider, policy
        self._kind, self._queues, self._worker = kind, queues, worker
        self._wanted: int | None = None
        self._failures = 0
        self._refusals: list[str] = []

    def look(self, *, every: timedelta = timedelta(seconds=LOOK_SECONDS - 5)) -> Decision | None:
        """Do what is due; None if another process looked a moment ago or the provider failed."""
        duty = duty_take(name=DUTY, every=every, worker=self._worker)
        if duty is None:
            return None
        try:
            decision = self._step(duty.done_at)
        except ProviderFailed as failure:
            self._failed(str(failure))
            return None
        self._failures = 0
        alarm_settle(key=ALARM)
        return decision

    def _step(self, now: datetime) -> Decision:
        self._refusals.clear()
        listed = self._provider.hosts()
        self._follow(listed, now)
        self._remove(listed, now)
        decision = self._decide(listed, now)
        self._wanted = decision.wanted
        SCALER_WANTED.set(decision.wanted)
        if decision.create or decision.drain:
            logger.info("%s", decision.reason)
        for name in decision.drain:
            rows = WorkerHost.objects.filter(name=name, state=HostState.READY)
            rows.update(state=HostState.DRAINING, drained_at=now, reason=decision.reason)
        for _ in range(decision.create):
            self._create(decision.reason, now)
        if self._refusals:
            raise ProviderFailed(self._refusals[0])
        return decision

    def _decide(self, listed: Collection[str], now: datetime) -> Decision:
        rows = list(WorkerHost.objects.filter(state__in=OPEN))
        hosts = [
            Host(row.name, (now - row.created_at).total_seconds(), row.state == HostState.READY, jobs_running(row.name))
            for row in rows
            if row.state in STAYING
        ]
        leaving = len({*listed, *(row.name for row in rows)} - {host.name for host in hosts})
        hosts += [Host("", 0.0, is_ready=False) for _ in range(self._provider.nameless())]
        return decide(
            open_work(self._queues, leaving=[row.name for row in rows if row.state == HostState.DRAINING]),
            hosts,
            self._policy,
            leaving=leaving,
            fixed_slots=fixed_slots(self._queues),
            wanted_before=self._wanted,
            hours_used=hours_used(now),
        )

    def _create(self, reason: str, now: datetime) -> None:
        if self._provider.names_hosts:
            self._provider.create("")
            return
        # The row comes first: a host without a row would never be removed.
        name = f"{self._kind[:12]}-{secrets.token_hex(4)}"
        WorkerHost.objects.create(name=name, provider=self._kind, reason=reason, created_at=now)
        self._provider.create(name)

    def _follow(self, listed: Collection[str], now: datetime) -> None:
        """Bring the rows up to what the provider and the heartbeats say."""
        known = set(WorkerHost.objects.exclude(state=HostState.ENDED).values_list("name", flat=True))
        for name in sorted(set(listed) - known):
            if self._provider.names_hosts:
                WorkerHost.objects.update_or_create(
                    name=name,
                    defaults={"provider": self._kind, "created_at": now, "state": HostState.CREATING, "ended_at": None},
                )
            else:
                logger.warning("The host %s is not ours any more, and is removed.", name)
                self._destroy(name)
        rows = WorkerHost.objects.filter(state__in=OPEN, provider=self._kind)
        alive = workers_alive().filter(queue__in=self._queues).order_by().values("host")
        rows.filter(state=HostState.CREATING, name__in=alive).update(state=HostState.READY, ready_at=now)
        late = rows.filter(state=HostState.CREATING, created_at__lt=now - CREATION)
        late.update(state=HostState.FAILED, ended_at=now, reason="Its workers were not heard of within 10 minutes.")
        gone = rows.exclude(name__in=listed)
        gone.filter(state=HostState.DRAINING).update(state=HostState.ENDED, ended_at=now)
        lost = gone.filter(Q(state=HostState.READY) | Q(created_at__lt=now - CREATION, state=HostState.CREATING))
        lost.update(state=HostState.FAILED, ended_at=now, reason="It is gone, and the arena did not remove it.")

    def _remove(self, listed: Collection[str], now: datetime) -> None:
        """Remove drained hosts whose jobs are over, and failed ones that still exist."""
        drained = WorkerHost.objects.filter(state=HostState.DRAINING, drained_at__lt=now - SILENCE, name__in=listed)
        for row in drained:
            with apart(f"The host {row}"):
                if jobs_running(row.name) == 0:
                    self._destroy(row.name)
        for row in WorkerHost.objects.filter(state=HostState.FAILED, name__in=listed):
            self._destroy(row.name)

    def _destroy(self, name: str) -> None:
        """Begin to remove a host. One that cannot be removed does not keep others: the look has failed at its end."""
        try:
            self._provider.destroy(name)
        except ProviderFailed as failure:
            self._refusals.append(str(failure))

    def _failed(self, sentence: str) -> None:
        self._failures += 1
        SCALER_FAILURES.inc()
        logger.warning("The provider of hosts failed: %s", sentence)
        if self._failures >= FAILURES:
            alarm_raise(key=ALARM, message=f"The provider of hosts has failed {self._failures} times. {sentence}")


def host_drain(*, host: WorkerHost, reason: str) -> bool:
    """Let a host finish what it does and then be removed; return whether it was ready."""
    rows = WorkerHost.objects.filter(pk=host.pk, state=HostState.READY)
    return rows.update(state=HostState.DRAINING, drained_at=Now(), reason=reason) == 1


def hours_used(now: datetime) -> float:
    """Return the hours that hosts have existed in the last 24 hours, all together."""
    day = now - timedelta(days=1)
    rows = WorkerHost.objects.filter(Q(ended_at=None) | Q(ended_at__gt=day))
    times = rows.values_list("created_at", "ended_at")
    return sum(((end or now) - max(start, day)).total_seconds() for start, end in times) / 3600
