"""Why a job is not running: its place in line, or the obstacle, as a code and a sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Count, Q
from django.utils import timezone

from core.jobs.estimates import Estimate, durations_of, estimate_of
from core.jobs.kinds import LOST_CODE, PERSONS_TURN_CODE
from core.jobs.lines import places_of
from core.jobs.registry import at_once, queues_of
from core.jobs.turns import HEAVY
from core.jobs.worker_selectors import workers_alive
from core.models import Alarm, Job, JobState

ENGINE_DOWN_CODE = "engine_unavailable"
"""The code of the platform fault that no container engine answered."""
UNAVAILABLE_CODE = "environment_unavailable"
"""The code of the platform fault that an environment cannot be played on this arena."""
HELD_CODE = "environment_on_hold"
"""The code of the platform fault that an environment failed and the attempts of a rated duel are used up."""
PAUSED_CODE = "paused"
"""The code of a duel whose environment organisers have closed, or whose tournament they have paused."""
ON_HOLD = Q(state=JobState.QUEUED, error_code=HELD_CODE, not_before__isnull=False)
"""The condition for duels on hold. One that an organiser has requeued keeps the code until a worker begins it."""
AWAITS_PERSON = Q(state=JobState.QUEUED, error_code=PERSONS_TURN_CODE, not_before__isnull=False)
"""The condition for jobs that wait for a person and not for a worker. They count as no waiting jobs."""
HALTED_CODES = (UNAVAILABLE_CODE, HELD_CODE, PAUSED_CODE)
"""The codes of waiting duels that no worker can help."""
TAKEN_OVER = timedelta(minutes=2)
"""Workers take over within a minute. A job that has been due for longer than this has no worker."""


class WaitCode(models.TextChoices):
    """The reason why a job waits."""

    IN_LINE = "in_line", "other jobs are before it"
    PERSONS_TURN = "persons_turn", "a person has to act"
    DELAYED = "delayed", "it is delayed after a fault of the arena"
    WORKER_STOPPED = "worker_stopped", "its worker was stopped, another one takes it"
    WORKER_LOST = "worker_lost", "its worker was lost, another one takes it"
    NO_WORKER = "no_worker", "no worker serves its queue"
    ENGINE_DOWN = "engine_down", "the container engine does not answer"
    STANDS_STILL = "stands_still", "its queue has stopped finishing jobs"
    UNAVAILABLE = "environment_unavailable", "its environment cannot be played on this arena at the moment"
    PAUSED = "paused", "organisers have paused it"
    ON_HOLD = "environment_on_hold", "its environment failed, and the organisers have to fix it"


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a job is not running.

    place: in the line of its kind, from 1; None when it is not in line. until: the time of the next attempt, where it
    is known. begins_in_seconds: an estimate, which the sentence says in words; None where there is too little to go by.
    """

    code: WaitCode
    sentence: str
    place: int | None = None
    until: datetime | None = None
    begins_in_seconds: int | None = None

    @property
    def is_stuck(self) -> bool:
        """Return whether waiting alone does not help."""
        return self.code in (
            WaitCode.NO_WORKER,
            WaitCode.ENGINE_DOWN,
            WaitCode.STANDS_STILL,
            WaitCode.UNAVAILABLE,
            WaitCode.ON_HOLD,
        )


@dataclass(frozen=True, slots=True)
class _Queue:
    """A queue's workers. without_engine: those whose engine does not answer. still_since: the start of its standstill.

    at_once: how many jobs the others do at the same time.
    """

    workers: int = 0
    without_engine: int = 0
    still_since: datetime | None = None
    at_once: int = 0

    @property
    def is_moving(self) -> bool:
        """Return whether its workers finish jobs."""
        return self.workers > self.without_engine and self.still_since is None


def standstill_key(queue: str) -> str:
    """Return the key of the alarm about a queue that has work and finishes nothing."""
    return f"queue-{queue}-stands-still"


def wait_of(job: Job) -> Wait | None:
    """Return why a job is not running; None when it runs or is over."""
    return waits_of([job]).get((job.KIND, job.pk))


def waits_of(jobs: Iterable[Job | None]) -> Mapping[tuple[str, int], Wait]:
    """Like `wait_of` for many jobs, by kind and id.

    At most two queries for each kind and two more; none when no job waits.
    """
    now = timezone.now()
    found: dict[tuple[str, int], Wait] = {}
    in_line: dict[type[Job], list[Job]] = defaultdict(list)
    for job in jobs:
        if job is None:
            continue
        if job.state == JobState.QUEUED and job.not_before is None:
            in_line[type(job)].append(job)
        elif (wait := _delay(job, now)) is not None:
            found[job.KIND, job.pk] = wait
    if not in_line:
        return found
    queues = _queues()
    for kind, waiting in in_line.items():
        places = places_of(kind, [job.pk for job in waiting])
        serving = {job.pk: _serving(queues, job) for job in waiting}
        durations = durations_of(kind) if any(queue.is_moving for queue in serving.values()) else {}
        for job in waiting:
            place, queue = places.get(job.pk), serving[job.pk]
            estimate = estimate_of(job, place=place or 1, workers=queue.at_once, durations=durations)
            found[kind.KIND, job.pk] = _in_line(job, queue, place, estimate)
    return found


def _delay(job: Job, now: datetime) -> Wait | None:
    """Return the wait of a job that is delayed, or whose worker stopped answering; otherwise None."""
    if job.state == JobState.RUNNING and job.lease_expires_at is not None and job.lease_expires_at < now:
        if job.lease_expires_at < now - TAKEN_OVER:
            return Wait(WaitCode.NO_WORKER, "Its worker has stopped answering, and no other worker has taken it over.")
        return Wait(WaitCode.WORKER_LOST, "Its worker has stopped answering; another one takes it within a minute.")
    if job.state != JobState.QUEUED or job.not_before is None:
        return None
    if job.error_code == UNAVAILABLE_CODE:
        # The time of the next look at the environment has no bearing on when the job is played.
        return Wait(WaitCode.UNAVAILABLE, f"{job.error} It is delayed until the environment is available again.")
    if job.error_code == PAUSED_CODE:
        return Wait(WaitCode.PAUSED, f"{job.error} It goes on when the organisers let it.")
    if job.error_code == PERSONS_TURN_CODE:
        return Wait(WaitCode.PERSONS_TURN, "It waits for a person.", until=job.not_before)
    if job.error_code == HELD_CODE:
        return Wait(
            WaitCode.ON_HOLD,
            "Its environment failed, which is the fault of neither player. It is delayed until the organisers have "
            "fixed the environment or let it be tried again.",
        )
    if job.not_before < now - TAKEN_OVER:
        return Wait(WaitCode.NO_WORKER, f"It was due at {_clock(job.not_before)}, but no worker has taken it.")
    is_over = job.not_before <= now
    when = "within a minute" if is_over else f"at about {_clock(job.not_before)}"
    until = None if is_over else job.not_before
    if job.error_code == "worker_stopped":
        return Wait(WaitCode.WORKER_STOPPED, f"Its worker was stopped; another one takes it {when}.", until=until)
    attempts = f" (attempt {job.attempt + 1} of {settings.JOB_MAX_ATTEMPTS})"
    if job.error_code == LOST_CODE:
        sentence = f"Its worker was lost; another one takes it {when}{attempts}."
        return Wait(WaitCode.WORKER_LOST, sentence, until=until)
    if job.error_code == ENGINE_DOWN_CODE:
        sentence = f"The container engine did not answer; it is tried again {when}{attempts}."
        return Wait(WaitCode.ENGINE_DOWN, sentence, until=until)
    return Wait(WaitCode.DELAYED, f"It is tried again {when}{attempts}, after a fault of the arena.", until=until)


def _in_line(job: Job, queue: _Queue, place: int | None, estimate: Estimate | None) -> Wait:
    line = "the queue of heavy environments" if getattr(job, HEAVY, False) else "the queue"
    # A job that was claimed a moment ago no longer has a place.
    where = f"it is next in {line}" if place in (1, None) else f"it is number {place} in {line}"
    if not queue.workers:
        return Wait(WaitCode.NO_WORKER, f"No worker serves its queue now; {where}.", place)
    if queue.without_engine == queue.workers:
        return Wait(WaitCode.ENGINE_DOWN, f"The container engine does not answer; {where}.", place)
    if queue.still_since is not None:
        still = f"Its queue has stopped finishing jobs; the organisers got an alarm at {_clock(queue.still_since)}"
        return Wait(WaitCode.STANDS_STILL, f"{still}. {where[0].upper()}{where[1:]}.", place)
    where = where[0].upper() + where[1:]
    if estimate is None:
        return Wait(WaitCode.IN_LINE, f"{where}.", place)
    return Wait(WaitCode.IN_LINE, f"{where}{estimate.words}.", place, begins_in_seconds=round(estimate.seconds))


def _serving(queues: Mapping[str, _Queue], job: Job) -> _Queue:
    """Combine the queues that a job waits for."""
    serving = [queues.get(queue, _Queue()) for queue in queues_of(job)]
    still_since = serving[0].still_since if serving else None
    return _Queue(
        sum(queue.workers for queue in serving),
        sum(queue.without_engine for queue in serving),
        still_since,
        sum(queue.at_once for queue in serving),
    )


def _queues() -> dict[str, _Queue]:
    without_engine = Count("pk", filter=~Q(engine_error=""))
    served = workers_alive().order_by().values("queue").annotate(workers=Count("pk"), without_engine=without_engine)
    keys = {standstill_key(queue): queue for queue in settings.QUEUES}
    alarms = Alarm.objects.filter(key__in=keys, settled_at=None).order_by()
    still = {keys[key]: since for key, since in alarms.values_list("key", "raised_at")}
    return {
        row["queue"]: _Queue(
            row["workers"],
            row["without_engine"],
            still.get(row["queue"]),
            (row["workers"] - row["without_engine"]) * at_once(row["queue"]),
        )
        for row in served
    }


def _clock(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%H:%M} UTC"
