"""The rows of this arena for a driver of lots: claims, leases and results of many jobs in one process."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.db import Error, connection

from arena_kit.environment.record_archive import ArtifactDamaged
from arena_kit.errors import PlatformFault
from arena_kit.log_context import bound
from arena_kit.referee.part import read_lot
from arena_kit.sandbox.base import SandboxError
from arena_kit.sandbox.kubernetes.manifest import LotJob
from arena_kit.sandbox.kubernetes.status import Ended
from core.jobs.claims import claim_next
from core.jobs.heartbeat import activity
from core.jobs.lifecycle import from_now
from core.jobs.log import job_about, log_end, log_start
from core.jobs.worker import Lease, Performed, WorkerStopped, is_stopping, is_well, settled, worker_name
from core.models import Duel, Evaluation, Job, JobState, Validation
from duel_runner.evaluating import evaluation_steps
from duel_runner.lots.parts import claim_of, lot_job, part_id, result_of
from duel_runner.makeable import if_makeable
from duel_runner.steps import Episodes, Matches, Steps
from duel_runner.tasks import duel_steps
from duel_runner.validating import validation_steps

logger = logging.getLogger(__name__)
STOPPED = "worker_stopped"
Wish = Matches | Episodes


@dataclass(slots=True)
class Claimed:
    """A job that this process runs. step: the number of its present lot."""

    job: Job
    lease: Lease
    steps: Steps
    step: int = 0


class LotRows:
    """Claims the jobs of a queue and turns them into lots; a driver calls it from one thread."""

    KINDS: ClassVar[Mapping[type[Job], Callable[[Any, Lease], Steps]]] = {
        Validation: validation_steps,
        Duel: duel_steps,
        Evaluation: evaluation_steps,
    }

    def __init__(self, queue: str) -> None:
        self._queue = queue
        self._claimed: dict[str, Claimed] = {}
        self._renew_at = float("-inf")

    def live_claims(self) -> frozenset[str]:
        running = (kind._default_manager.filter(state=JobState.RUNNING) for kind in self.KINDS)
        tokens = (token for rows in running for token in rows.values_list("claim_token", flat=True))
        return frozenset(token.hex for token in tokens if token is not None)

    def renew(self, claims: Sequence[str]) -> frozenset[str]:
        self._show_news()
        if time.monotonic() < self._renew_at:
            return frozenset()
        self._renew_at = time.monotonic() + settings.JOB_LEASE_SECONDS / 4
        # Those that a broken claim has left behind wait for their leases to end.
        for claim in self._claimed.keys() - set(claims):
            self._forget(claim)
        held: set[str] = set()
        for kind in self.KINDS:
            tokens = [one.job.claim_token for one in self._claimed.values() if isinstance(one.job, kind)]
            rows = kind._default_manager.filter(state=JobState.RUNNING, claim_token__in=tokens)
            rows.update(lease_expires_at=from_now(timedelta(seconds=settings.JOB_LEASE_SECONDS)))
            held |= {token.hex for token in rows.values_list("claim_token", flat=True) if token is not None}
        lost = frozenset(claims) - held
        for claim in lost:
            self._forget(claim)
        return lost

    def claim(self, count: int) -> list[LotJob]:
        lots: list[LotJob] = []
        try:
            while len(lots) < count and not is_stopping() and is_well():
                claim = claim_next(self._queue, worker=worker_name())
                if claim is None:
                    break
                lot = self._begun(claim.job)
                if lot is not None:
                    lots.append(lot)
        except Error as error:
            # The lots that are claimed already are played.
            logger.warning("No more jobs could be claimed: %s", error)
            connection.close()
        return lots

    def progress(self, claim: str, done: dict[str, int]) -> None:
        one = self._claimed[claim]
        if isinstance(one.job, Evaluation):
            one.lease.progress(episodes_done=done.get(part_id(one.job), 0))
        else:
            one.lease.progress(matches_done=done.get(part_id(one.job), 0))

    def finish(self, claim: str, lines: Sequence[str], ended: Ended) -> LotJob | None:
        one = self._claimed[claim]

        def act() -> Wish:
            try:
                parts = read_lot(lines, ended.seal, claim, ended.out_of_memory)
                result = result_of(parts[part_id(one.job)])
            except PlatformFault as fault:
                return one.steps.throw(fault)
            except SandboxError as error:
                return one.steps.throw(PlatformFault(str(error), code=error.code))
            except (ArtifactDamaged, KeyError):
                return one.steps.throw(PlatformFault("The lot's result cannot be read.", code="result_not_sealed"))
            return one.steps.send(result)

        return self._advance(one, act)

    def fail(self, claim: str, code: str, sentence: str) -> None:
        one = self._claimed[claim]
        fault = WorkerStopped() if code == STOPPED else PlatformFault(sentence, code=code)
        self._advance(one, lambda: one.steps.throw(fault))

    def _begun(self, job: Job) -> LotJob | None:
        """Return the first lot of a job that was just claimed; None when the job is over or given back."""
        lease = Lease(job)
        one = Claimed(job, lease, self.KINDS[type(job)](job, lease))

        def act() -> Wish:
            wishes: list[Wish] = []
            if_makeable(lambda *_: wishes.append(next(one.steps)))(job, lease)
            if not wishes:
                # The job has ended, because its environment cannot be made anywhere.
                raise StopIteration
            return wishes[0]

        with bound(**job_about(job, worker_name())):
            log_start(job)
        return self._advance(one, act)

    def _advance(self, one: Claimed, act: Callable[[], Wish]) -> LotJob | None:
        """Let a job go on to the next thing that it wants to be played; None when it is over or given back."""
        lots: list[LotJob] = []

        def run() -> None:
            try:
                lots.append(lot_job(act(), step=one.step + 1))
            except StopIteration:
                return

        claim = claim_of(one.job)
        with bound(**job_about(one.job, worker_name())):
            outcome = settled(one.job, one.lease, run)
            if outcome is Performed.DONE and lots:
                one.step += 1
                self._claimed[claim] = one
                return lots[0]
            one.steps.close()
            self._claimed.pop(claim, None)
            activity.jobs_done += outcome is Performed.DONE
            log_end(one.job, is_refused=outcome is Performed.REFUSED)
        return None

    def _show_news(self) -> None:
        for one in self._claimed.values():
            if one.lease.has_news:
                one.lease.beat()

    def _forget(self, claim: str) -> None:
        if (one := self._claimed.pop(claim, None)) is not None:
            one.steps.close()
