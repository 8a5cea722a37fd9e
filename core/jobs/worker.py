"""One step of a worker: claim the next job, keep its lease alive, finish it or give it back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from enum import Enum
from typing import TypeVar

from django.db import close_old_connections

from arena_kit.errors import PlatformFault
from arena_kit.log_context import bound
from core.errors import StoreFailed
from core.jobs.artifacts import store_is_down
from core.jobs.claims import Claim, charge, claim_next
from core.jobs.heartbeat import activity
from core.jobs.hosts import worker_name
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_give_back, job_give_back_stopped
from core.jobs.log import job_about, job_span, log_end, log_fault, log_start
from core.jobs.states import StaleJob
from core.jobs.stopping import WorkerStopped, is_stopping
from core.models import Job, JobState
from core.monitoring.metrics import job_refused
from core.tracing import stages

logger = logging.getLogger(__name__)
AnyJob = TypeVar("AnyJob", bound=Job)


def _engine_is_down() -> bool:
    # Imported here: the engine's client takes long to load, and most processes never ask.
    from arena_kit.image.engine import engine_is_down

    return engine_is_down()


def _registry_is_down() -> bool:
    # Imported here for the same reason.
    from core.jobs.images import registry_is_down

    return registry_is_down()


def _base_images_missing() -> bool:
    # Imported here for the same reason.
    from core.jobs.images import base_images_missing

    return base_images_missing()


PERSISTS: dict[str, Callable[[], bool]] = {
    "base_image_missing": _base_images_missing,
    "engine_unavailable": _engine_is_down,
    "registry_unavailable": _registry_is_down,
    "registry_refused": _registry_is_down,
    "store_full": store_is_down,
    "store_failed": store_is_down,
}
"""By the code of a fault that affects every job: a function that says whether it still exists."""

_trouble: Callable[[], bool] | None = None
"""The check for the last such fault of this process. While it returns True the process takes no job, so that an outage
does not use up the attempts of all waiting jobs."""


class Performed(Enum):
    """The result of one step of a worker."""

    NOTHING = "nothing"
    """There was no job that this worker may start."""
    DONE = "done"
    GIVEN_BACK = "given back"
    REFUSED = "refused"
    """Another worker holds the job now, or it was cancelled: this worker's result does not count."""


def step(queue: str) -> Performed:
    """Claim the next job of a queue and do it; NOTHING when none waits or this worker may start none."""
    claim = claim_next(queue, worker=worker_name()) if may_begin() else None
    return Performed.NOTHING if claim is None else work_on(queue, claim)


def work_on(queue: str, claim: Claim) -> Performed:
    """Do a job that was claimed from a queue."""
    begun = time.monotonic()
    try:
        return perform(claim.job, claim.perform)
    finally:
        charge(queue, claim, time.monotonic() - begun)


def may_begin() -> bool:
    """Return whether this process may claim a job: it does not stop, its host is not drained, and no fault persists."""
    return not is_stopping() and not activity.is_draining and is_well()


def is_well() -> bool:
    """Return whether this process's last lasting fault is over."""
    global _trouble  # noqa: PLW0603  # one for each process, like the process itself
    if _trouble is not None and _trouble():
        logger.warning("This worker takes no job: the fault of its last job is not over yet.")
        return False
    _trouble = None
    return True


def perform(job: AnyJob, action: Callable[[AnyJob, Lease], None]) -> Performed:
    """Run a claimed job's `action`, which finishes it; give the job back when the platform fails."""
    outcome = Performed.GIVEN_BACK
    activity.begin(job)
    with bound(**job_about(job, worker_name())), job_span(job) as traced, stages():
        log_start(job)
        try:
            outcome = _do(job, action)
        finally:
            activity.end(is_done=outcome is Performed.DONE)
            log_end(job, traced, is_refused=outcome is Performed.REFUSED)
    return outcome


def _do(job: AnyJob, action: Callable[[AnyJob, Lease], None]) -> Performed:
    with Lease(job) as lease:

        def act() -> None:
            lease.raise_if_lost()
            action(job, lease)

        return settled(job, lease, act)


def settled(job: Job, lease: Lease, act: Callable[[], None]) -> Performed:
    """Do a part of a running job's work; give the job back when the platform fails or this worker stops."""
    try:
        act()
    except WorkerStopped:
        logger.info("%s %s is given back because this worker stops.", job.KIND, job.pk)
        _give_back(job, lambda: job_give_back_stopped(job=job, log=lease.text))
        return Performed.GIVEN_BACK
    except StaleJob:
        logger.warning("The result of %s %s came too late and was refused.", job.KIND, job.pk)
        job_refused(kind=job.KIND)
        return Performed.REFUSED
    except (PlatformFault, StoreFailed) as fault:
        global _trouble  # noqa: PLW0603  # see is_well
        _trouble = PERSISTS.get(fault.code)
        code, error = fault.code, str(fault)
        log_fault(job, code=code, sentence=error)
        activity.fault(f"{job.KIND} {job.pk}: {error} ({code})")
        _give_back(job, lambda: job_give_back(job=job, code=code, error=error, log=lease.text))
        return Performed.GIVEN_BACK
    except Exception:
        logger.exception("%s %s raised an error in the arena's own code.", job.KIND, job.pk)
        error = "Something went wrong inside the arena, not in the submission."
        activity.fault(f"{job.KIND} {job.pk}: the arena's code raised (internal_error); see the worker's log.")
        _give_back(job, lambda: job_give_back(job=job, code="internal_error", error=error, log=lease.text))
        return Performed.GIVEN_BACK

    return Performed.DONE


def _give_back(job: Job, write: Callable[[], None]) -> None:
    close_old_connections()
    # A result that was not written changed the state in memory only; the row decides whether the claim still holds.
    job.state = JobState.RUNNING
    try:
        write()
    except StaleJob:
        logger.warning("%s %s was taken from this worker.", job.KIND, job.pk)
    except Exception as error:
        # The database or a listener failed. The lease is no longer renewed; when it expires, the reaper gives it back.
        logger.warning("%s %s could not be given back: %s", job.KIND, job.pk, error, exc_info=True)
