"""The rows of this arena for a driver of lots: claims, leases and results of many jobs in one process."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, ClassVar

from django.conf import settings
from django.db import Error, connection

from arena_kit.cluster.lots.manifest import LotJob
from arena_kit.cluster.status import Ended
from arena_kit.environment.record_archive import ArtifactDamaged
from arena_kit.errors import PlatformFault
from arena_kit.log_context import bound
from arena_kit.referee.part import NOT_PLAYED, Failed, PlayedPart, finished_parts, read_lot
from arena_kit.referee.play import PlayedDuel
from arena_kit.sandbox.base import SandboxError
from core.jobs.claims import claim_next
from core.jobs.heartbeat import activity
from core.jobs.hosts import worker_name
from core.jobs.lease import Lease
from core.jobs.lifecycle import from_now, job_delay, job_fail
from core.jobs.log import job_about, job_span, log_end, log_start
from core.jobs.stopping import WorkerStopped
from core.jobs.worker import Performed, may_begin, settled
from core.models import Duel, Evaluation, Job, JobFault, JobState, Validation
from core.tracing import stages
from duel_runner.evaluating import evaluation_steps
from duel_runner.lots.blocks import duels_take
from duel_runner.lots.parts import claim_of, lot_job, must_be_apart, part_id, result_of
from duel_runner.makeable import if_makeable
from duel_runner.steps import Episodes, MatchesOfJob, Steps
from duel_runner.tasks import duel_steps
from duel_runner.validating import validation_steps

logger = logging.getLogger(__name__)
STOPPED, NOT_SEALED = "worker_stopped", "result_not_sealed"
NOT_APART = (
    "This environment keeps its players apart, and those of a pod share its network. It is played with SANDBOX=docker."
)
DELAYED = frozenset({"no_capacity"})
NO_ATTEMPT = DELAYED | {NOT_PLAYED}
"""Codes of platform faults after which a job waits again without the loss of an attempt: it has not been played."""
Play = MatchesOfJob | Episodes


@dataclass(slots=True)
class Claimed:
    """A job that this process runs. step: the number of its present lot."""

    job: Job
    lease: Lease
    steps: Steps
    step: int = 0


class LotRows:
    """Claims the jobs of a queue and turns them into lots; a driver calls it from one thread.

    lot_size: the most submissions of a lot. With more than two, duels of a tournament that wait are played in blocks.
    """

    KINDS: ClassVar[Mapping[type[Job], Callable[[Any, Lease], Steps]]] = {
        Validation: validation_steps,
        Duel: duel_steps,
        Evaluation: evaluation_steps,
    }

    def __init__(self, queue: str, *, lot_size: int = 2) -> None:
        self._queue, self._lot_size = queue, lot_size
        self._lots: dict[str, dict[str, Claimed]] = {}
        """By the claim of a lot, which is that of its first row: the rows that it still plays, by their own claims."""
        self._renew_at = float("-inf")

    def live_claims(self) -> frozenset[str]:
        running = (kind._base_manager.filter(state=JobState.RUNNING) for kind in self.KINDS)
        tokens = (token for rows in running for token in rows.values_list("claim_token", flat=True))
        return frozenset(token.hex for token in tokens if token is not None)

    def renew(self, claims: Sequence[str]) -> frozenset[str]:
        self._show_changes()
        if time.monotonic() < self._renew_at:
            return frozenset()
        self._renew_at = time.monotonic() + settings.JOB_LEASE_SECONDS / 4
        # Jobs that a broken claim has left behind wait for their leases to end.
        for claim in self._lots.keys() - set(claims):
            self._forget(claim)
        held: set[str] = set()
        for kind in self.KINDS:
            tokens = [one.job.claim_token for one in self._rows() if isinstance(one.job, kind)]
            rows = kind._base_manager.filter(state=JobState.RUNNING, claim_token__in=tokens)
            rows.update(lease_expires_at=from_now(timedelta(seconds=settings.JOB_LEASE_SECONDS)))
            held |= {token.hex for token in rows.values_list("claim_token", flat=True) if token is not None}
        for lot in self._lots.values():
            for claim in lot.keys() - held:
                lot.pop(claim).steps.close()
        lost = frozenset(claim for claim in claims if not self._lots.get(claim))
        for claim in lost:
            self._forget(claim)
        return lost

    def claim(self, count: int) -> list[LotJob]:
        lots: list[LotJob] = []
        try:
            while len(lots) < count and may_begin():
                claim = claim_next(self._queue, worker=worker_name())
                if claim is None:
                    break
                lots += self._begun(claim.job)
        except Error as error:
            # The lots that are claimed already are played.
            logger.warning("No more jobs could be claimed: %s", error)
            connection.close()
        return lots

    def progress(self, claim: str, done: dict[str, int]) -> None:
        for one in self._lots[claim].values():
            if (count := done.get(part_id(one.job))) is None:
                continue
            if isinstance(one.job, Evaluation):
                one.lease.progress(episodes_done=count)
            else:
                one.lease.progress(matches_done=count)

    def finish(self, claim: str, lines: Sequence[str], ended: Ended) -> LotJob | None:
        @cache
        def parts() -> dict[str, PlayedPart]:
            try:
                return read_lot(lines, ended.seal, claim, ended.killed)
            except ArtifactDamaged as error:
                raise PlatformFault("The lot's result cannot be read.", code=NOT_SEALED) from error

        following = [self._finished(claim, one, parts) for one in list(self._lots[claim].values())]
        if not self._lots[claim]:
            del self._lots[claim]
        return next(filter(None, following), None)

    def finish_parts(self, claim: str, lines: Sequence[str]) -> None:
        try:
            parts = finished_parts(lines)
        except (SandboxError, ArtifactDamaged) as error:
            # Either the end of the log says the same, or it can be read then.
            logger.warning("The finished parts of a lot cannot be read: %s", error)
            return
        for one in list(self._lots[claim].values()):
            if part_id(one.job) in parts:
                self._finished(claim, one, lambda: parts)

    def fail(self, claim: str, code: str, sentence: str) -> None:
        for one in list(self._lots.pop(claim, {}).values()):
            self._fail(one, code, sentence)

    def _fail(self, one: Claimed, code: str, sentence: str) -> None:
        if code in NO_ATTEMPT:
            one.steps.close()
            span = timedelta(seconds=settings.JOB_DELAY_SECONDS if code in DELAYED else 0)
            said = {"code": code, "error": sentence, "log": one.lease.text}
            with bound(**job_about(one.job, worker_name())), job_span(one.job) as traced:
                settled(one.job, one.lease, lambda: job_delay(job=one.job, span=span, **said))
                log_end(one.job, traced, is_refused=False)
            return
        fault = WorkerStopped() if code == STOPPED else PlatformFault(sentence, code=code)
        self._advance(one, lambda: one.steps.throw(fault))

    def _finished(self, claim: str, one: Claimed, parts: Callable[[], Mapping[str, PlayedPart]]) -> LotJob | None:
        """Let a row of a lot go on with its part's result."""
        rows = self._lots[claim]

        def act() -> Play:
            try:
                part = parts().get(part_id(one.job))
                if part is None:
                    raise PlatformFault("The lot's result cannot be read.", code=NOT_SEALED)
                result = result_of(part)
            except PlatformFault as fault:
                return one.steps.throw(fault)
            one.lease.log(f"Playing took {result.played.playing_seconds:.3f} s.")
            if isinstance(result.played, PlayedDuel) and result.played.log:
                one.lease.log(result.played.log)
            return one.steps.send(result)

        rows.pop(claim_of(one.job))
        with suppress(ArtifactDamaged, PlatformFault):
            part = parts().get(part_id(one.job))
            if part is not None and isinstance(part.result, Failed) and part.result.code in NO_ATTEMPT:
                self._fail(one, part.result.code, part.result.sentence)
                return None
        lot = self._advance(one, act)
        if lot is not None:
            rows[claim_of(one.job)] = one
        return lot

    def _begun(self, job: Job) -> list[LotJob]:
        """Return the first lot of a job that was just claimed; nothing when the job is over or given back."""
        if (first := self._play(job)) is None:
            return []
        begun = [first]
        try:
            if isinstance(job, Duel) and job.tournament_id is not None:
                taken = duels_take(job, size=self._lot_size, worker=worker_name())
                begun += filter(None, map(self._play, taken))
        except Error as error:
            # It is played alone.
            logger.warning("No other duel of a block could be claimed: %s", error)
            connection.close()
        lot = lot_job(*(play for _, play in begun))
        for one, play in begun:
            one.lease.log(f"{' against '.join(map(str, play.submissions))}, in the pod of {lot.name}.")
        self._lots[lot.claim] = {claim_of(one.job): one for one, _ in begun}
        return [lot]

    def _play(self, job: Job) -> tuple[Claimed, Play] | None:
        """Return what a job that was just claimed wants first; None when the job is over or given back."""
        lease = Lease(job)
        one = Claimed(job, lease, self.KINDS[type(job)](job, lease))
        plays: list[Play] = []

        def begin(_: Any, __: Lease) -> None:
            if must_be_apart(job):
                job_fail(job=job, fault=JobFault.PLATFORM, code="sandbox_refused", error=NOT_APART, log=lease.text)
            else:
                plays.append(next(one.steps))

        def act() -> Play:
            if_makeable(begin)(job, lease)
            if not plays:
                # The job has ended, because its environment cannot be made anywhere, or not be played on a cluster.
                raise StopIteration
            return plays[0]

        with bound(**job_about(job, worker_name())):
            log_start(job)
        return None if self._advance(one, act) is None else (one, plays[0])

    def _advance(self, one: Claimed, act: Callable[[], Play]) -> LotJob | None:
        """Let a job go on to the next thing that it has to play; None when it is over or given back."""
        lots: list[LotJob] = []

        def run() -> None:
            try:
                lots.append(lot_job(act(), step=one.step + 1))
            except StopIteration:
                return

        with bound(**job_about(one.job, worker_name())), job_span(one.job) as traced, stages():
            outcome = settled(one.job, one.lease, run)
            if outcome is Performed.DONE and lots:
                one.step += 1
                return lots[0]
            one.steps.close()
            activity.jobs_done += outcome is Performed.DONE
            log_end(one.job, traced, is_refused=outcome is Performed.REFUSED)
        return None

    def _rows(self) -> Iterator[Claimed]:
        """Yield all rows of all lots."""
        for lot in self._lots.values():
            yield from lot.values()

    def _show_changes(self) -> None:
        for one in self._rows():
            if one.lease.has_changes:
                one.lease.beat()

    def _forget(self, claim: str) -> None:
        for one in self._lots.pop(claim, {}).values():
            one.steps.close()
