"""The watchdog: raises an alarm while work waits in a queue and nothing is finished."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import Case, F, Q, When
from django.db.models.functions import Now
from django_q.models import Schedule

from core.jobs.apart import apart
from core.jobs.messages import messages
from core.jobs.registry import PLANS, kinds_of
from core.jobs.states import OPEN
from core.jobs.waits import AWAITS_PERSON, HALTED_CODES, standstill_key
from core.jobs.worker_selectors import workers_alive
from core.jobs.workers import workers_prune
from core.links import page
from core.models import Alarm, Duty, Job, JobFault, JobState
from core.notices.alarms import alarm_raise, alarm_settle, alarms_settle_ended

logger = logging.getLogger(__name__)

WATCHDOG = "watchdog"
"""The name of the duty."""
EVERY = timedelta(seconds=30)
GAP = timedelta(minutes=3)
"""Time without a check after which the watchdog counts as off: earlier waiting raises no alarm."""


def queues_check(*, worker: str) -> bool:
    """Check all queues once; return False when another worker did so a moment ago.

    Workers of every queue call this, so one living worker is enough. worker: the caller's name.
    """
    duty = duty_take(name=WATCHDOG, every=EVERY, worker=worker)
    if duty is None:
        return False
    with apart("The rows of workers that have ended"):
        workers_prune()
        alarms_settle_ended()
    for queue in settings.QUEUES:
        with apart(f"The check of the queue {queue}"):
            queue_check(queue=queue, since=duty.since, now=duty.done_at)
    return True


def duty_take(*, name: str, every: timedelta, worker: str) -> Duty | None:
    """Claim a duty that is due; None when it was done within `every`. The clock is the database's.

    It counts as done from now on: a worker that dies during it skips one turn, so its work must be safe to do later.
    """
    due = Duty.objects.filter(name=name, done_at__lte=Now() - every)
    since = Case(When(done_at__lt=Now() - GAP, then=Now()), default=F("since"))
    fields = {"done_at": Now(), "worker": worker[:100]}
    if due.update(since=since, **fields) == 1:
        return Duty.objects.get(name=name)
    duty, is_new = Duty.objects.get_or_create(name=name, defaults={"since": Now(), **fields})
    if not is_new:
        return None
    duty.refresh_from_db()
    return duty


def queue_check(*, queue: str, since: datetime, now: datetime) -> None:
    """Raise the alarm of a queue that stands still, or settle it. since: start of the checks without a gap."""
    patience = timedelta(minutes=settings.QUEUE_STALL_MINUTES)
    message = ""
    # After a night without workers everything has waited long, so the workers get their time first.
    if patience and now - since >= patience:
        message = _standstill(queue, now - patience)
    key = standstill_key(queue)
    if not message:
        alarm_settle(key=key)
    elif not Alarm.objects.filter(key=key, message=message, settled_at=None).exists():
        alarm_raise(key=key, message=message, address=page("workers"))


def _standstill(queue: str, before: datetime) -> str:
    """Return why a queue with work from before a moment has finished nothing since; empty when it has."""
    kinds = kinds_of(queue)
    last = max(filter(None, map(_last_finished, kinds)), default=None)
    if last is not None and last >= before:
        return ""
    # Duels of an environment that is not available or fails have an alarm of their own.
    halted = Q(state=JobState.QUEUED, error_code__in=HALTED_CODES) | AWAITS_PERSON
    waits = any(
        kind._base_manager.filter(state__in=OPEN, **{f"{kind.WAITS_SINCE}__lt": before}).exclude(halted).exists()
        for kind in kinds
    )
    if not waits and not _is_overdue(queue, before):
        return ""
    workers = list(workers_alive(queue).values_list("engine_error", flat=True))
    if not workers:
        return f"The queue {queue} has waiting work but no worker. Start one: manage.py run_workers {queue}."
    if all(workers):
        return f"The queue {queue} has waiting work, but its workers have no container engine. {workers[0]}"
    when = f"since {last.astimezone(UTC):%d %b, %H:%M} UTC" if last is not None else "so far"
    return f"Nothing has been finished in the queue {queue} {when}, although work waits there and workers are alive."


def _last_finished(kind: type[Job]) -> datetime | None:
    """Return when a job of a kind last ended other than by cancellation or a platform fault."""
    ways = ({"state": JobState.SUCCEEDED}, {"state": JobState.FAILED, "fault": JobFault.PLAYER})
    # One query for each, in the order of an index; a combined query would read the whole history.
    ends = [kind._base_manager.filter(**way).order_by("-ended_at").values_list("ended_at", flat=True) for way in ways]
    return max(filter(None, (rows.first() for rows in ends)), default=None)


def _is_overdue(queue: str, before: datetime) -> bool:
    """Return whether a schedule or a message of a queue is overdue: the tournament queue has no other work."""
    names = [name for name, plan in PLANS.items() if plan.queue == queue]
    due = Schedule.objects.filter(name__in=names, next_run__lt=before).exclude(repeats=0)
    # django-q notes the moment of sending as the end of the message's lock.
    return bool(due.exists() or messages(queue).filter(lock__lt=before).exists())
