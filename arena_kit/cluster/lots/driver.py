"""Plays claimed lots on a cluster: one tick compares the rows with the Jobs and does what is missing.

Rows are the truth and Jobs are only hands. A tick lists all Jobs and pods of the arena, so it does not matter which
driver started a Job, or when a driver was ended. A Job that vanishes is a fault of the platform; a Job without a live
claim is deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from arena_kit.cluster.client import JobRefused
from arena_kit.cluster.lots.manifest import OTHERS, LotJob, lot_manifest
from arena_kit.cluster.lots.needs import Cluster, Plain, Rows
from arena_kit.cluster.manifest import CLAIM, Tenant
from arena_kit.cluster.status import Ended, Running, Status, Waiting, status_of
from arena_kit.sandbox.base import SandboxUnavailable

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = {"no_capacity": 600.0, "image_missing": 60.0, "pod_refused": 30.0, "": 300.0}
"""How long a lot may wait, by the code of what it waits for, before it fails for the platform's fault."""
SILENT_SECONDS = 30.0
"""After how long a pod whose status does not say what it waits for is looked up in the cluster's events."""
GONE_AFTER_LISTS = 2
"""A claim's Job is gone when this many lists in a row do not have it."""
UNREADABLE_AFTER = 12
"""The results are lost when the log of a lot that has ended cannot be read in this many ticks."""
PROGRESS_SECONDS, PROGRESS_LINES, LOOKS = 15.0, 3, 50
"""Least seconds between two looks at the end of a running lot's log, how many lines of it are read, and how many
logs a tick looks at."""
RENEW_SECONDS = 2.0
FULL_SECONDS = 60.0
"""After the cluster made no pod for a Job, only one Job at a time asks for one until this time has passed."""
CLOSED_SECONDS = {"no_capacity": 10.0, "pod_refused": 60.0}
"""After the cluster refused a Job or its pod, no other is tried for this long, by the code of the refusal: what is
wrong with the arena's settings would otherwise use up the attempts of all jobs that wait."""

JOB_NAME = "job-name"
"""The label with which a cluster marks the pods of a Job."""


@dataclass(slots=True)
class Claimed:
    """A claim of this driver. since: when its present wait began, by the driver's clock.

    is_made: whether its Job was on the cluster at some time. part: of a block, which is being played.
    """

    job: LotJob
    since: float
    is_made: bool = False
    waits_for: str = ""
    missing: int = 0
    unreadable: int = 0
    part: str = ""
    looked_at: float = float("-inf")


@dataclass
class Driver:
    """One driver; several may share an arena and a cluster. jobs_max: how many lots it plays at once."""

    rows: Rows
    cluster: Cluster
    tenant: Tenant
    jobs_max: int
    clock: Callable[[], float]
    claimed: dict[str, Claimed] = field(default_factory=dict)
    listed_at: float | None = None
    """When the cluster was last listed."""
    trouble: str = ""
    """Why the cluster could not be listed or changed in the latest tick; empty when it could."""
    _full_until: float = float("-inf")
    _closed_until: float = float("-inf")
    _silent_until: float = float("-inf")
    _renewed_at: float = float("-inf")
    _looks: int = 0

    def tick(self) -> None:
        """Do what is missing. An API that does not answer changes nothing; the next tick tries again."""
        self._renew()
        try:
            jobs, pods = self.cluster.jobs(), self.cluster.pods()
        except SandboxUnavailable as error:
            logger.warning("The cluster could not be listed: %s", error)
            self.trouble = str(error)
            return
        self.listed_at, self.trouble = self.clock(), ""
        # Claims are read after the list, so that a Job made meanwhile is not taken for a leftover.
        live = self.rows.live_claims() | self.claimed.keys()
        found: dict[str, Plain] = {}
        for job in jobs:
            name, claim = job["metadata"]["name"], _label(job, CLAIM)
            if claim in self.claimed and name == self.claimed[claim].job.name:
                found[claim] = job
            elif claim in self.claimed or live.isdisjoint(_claims(job)):
                self._delete(job)
        own: dict[str, list[Plain]] = {}
        for pod in pods:
            own.setdefault(_label(pod, JOB_NAME), []).append(pod)
        self._looks = LOOKS
        for claim in sorted(self.claimed, key=lambda claim: self.claimed[claim].looked_at):
            if claim not in self.claimed:
                # Lost meanwhile.
                continue
            try:
                self._follow(claim, found.get(claim), own.get(self.claimed[claim].job.name, []))
            except SandboxUnavailable as error:
                logger.warning("A lot could not be followed: %s", error)
            except Exception:
                logger.exception("A lot could not be followed.")
                self._fail(claim, "internal_error", "Something went wrong inside the arena, not in the submission.")
            self._renew_in_between()
        self._start_more()

    @property
    def room(self) -> int:
        """How many more lots it may start now."""
        room = self.jobs_max - len(self.claimed)
        if self.clock() < self._closed_until or not all(claimed.is_made for claimed in self.claimed.values()):
            return 0
        if self.clock() < self._full_until:
            room = min(room, 0 if any(claimed.waits_for for claimed in self.claimed.values()) else 1)
        return max(0, room)

    def stop(self) -> None:
        """Give back every lot and delete its Job; a Job that cannot be deleted now is left to the other drivers."""
        given_back = set(self.claimed)
        for claim in given_back:
            self._fail(claim, "worker_stopped", "The driver was stopped.")
        try:
            jobs = self.cluster.jobs()
        except SandboxUnavailable as error:
            logger.warning("The cluster could not be listed: %s", error)
            return
        self.trouble = ""
        for job in jobs:
            if _label(job, CLAIM) in given_back:
                self._delete(job)

    def _follow(self, claim: str, job: Plain | None, pods: Sequence[Plain]) -> None:
        claimed = self.claimed[claim]
        if job is None:
            claimed.missing += claimed.is_made
            if claimed.missing >= GONE_AFTER_LISTS:
                self._fail(claim, "job_gone", "The lot's Job is gone.")
            else:
                self._create(claimed)
            return
        claimed.is_made, claimed.missing = True, 0
        status = status_of(job, pods)
        if isinstance(status, Waiting) and not status.code:
            status = self._explained(claimed, job, pods) or status
        if isinstance(status, Waiting):
            self._wait(claimed, job, status)
        elif isinstance(status, Running):
            claimed.waits_for, claimed.since = "", self.clock()
            self._tell_progress(claimed, pods)
        elif status.code:
            if status.code in CLOSED_SECONDS:
                self._closed_until = self.clock() + CLOSED_SECONDS[status.code]
            self._save_parts(claimed, pods)
            self._fail(claim, status.code, status.sentence)
            self._delete(job)
        else:
            self._finish(claimed, job, pods, status)

    def _explained(self, claimed: Claimed, job: Plain, pods: Sequence[Plain]) -> Status | None:
        """Return why a lot waits as events tell it; None while its pod has not waited for long."""
        if pods and not claimed.waits_for and self.clock() - claimed.since < SILENT_SECONDS:
            return None
        return status_of(job, pods, self.cluster.events(_newest(pods) if pods else job["metadata"]["name"]))

    def _finish(self, claimed: Claimed, job: Plain, pods: Sequence[Plain], ended: Ended) -> None:
        try:
            lines = self.cluster.log(_newest(pods))
        except SandboxUnavailable:
            claimed.unreadable += 1
            if claimed.unreadable < UNREADABLE_AFTER:
                raise
            lines = None
        if lines is None:
            self._fail(claimed.job.claim, "result_lost", "The log with the results is gone with its node.")
        else:
            following = self.rows.finish(claimed.job.claim, lines, ended)
            self.claimed.pop(claimed.job.claim, None)
            if following is not None:
                self.claimed[following.claim] = Claimed(following, self.clock())
                self._create(self.claimed[following.claim])
        self._delete(job)

    def _wait(self, claimed: Claimed, job: Plain, status: Waiting) -> None:
        """Let a lot wait as long as it may for what it waits for."""
        now = self.clock()
        if status.code != claimed.waits_for:
            claimed.waits_for, claimed.since = status.code, now
        if status.code in CLOSED_SECONDS:
            self._full_until = now + FULL_SECONDS
        if now - claimed.since >= PATIENCE_SECONDS[status.code]:
            self._fail(claimed.job.claim, status.code or "container_failed", status.sentence)
            self._delete(job)

    def _tell_progress(self, claimed: Claimed, pods: Sequence[Plain]) -> None:
        now = self.clock()
        if now - claimed.looked_at < PROGRESS_SECONDS or now < self._silent_until or self._looks == 0:
            return
        self._looks -= 1
        claimed.looked_at = self.clock()
        try:
            lines = self.cluster.log(_newest(pods), last=PROGRESS_LINES) or []
        except SandboxUnavailable as error:
            # A node that is lost is silent about all its lots, and each costs the time-out of a call.
            logger.warning("The progress of a lot could not be read: %s", error)
            self._silent_until = self.clock() + FULL_SECONDS
            return
        done: dict[str, int] = {}
        for line in lines:
            word, *values = line.split() or [""]
            if word == "progress" and len(values) == 2 and values[1].isdigit():  # part and number
                done[values[0]] = int(values[1])
        if done:
            self.rows.progress(claimed.job.claim, done)
        *_, part = done or [claimed.part]
        if claimed.part and claimed.part != part:
            # The parts before are over.
            self._save_parts(claimed, pods)
        claimed.part = part

    def _save_parts(self, claimed: Claimed, pods: Sequence[Plain]) -> None:
        """Store what is over of a block, so that whatever happens to its pod costs no more than the rest."""
        if not claimed.job.others or not pods:
            return
        try:
            lines = self.cluster.log(_newest(pods))
        except SandboxUnavailable as error:
            logger.warning("The finished parts of a lot could not be read: %s", error)
            return
        if lines:
            self.rows.finish_parts(claimed.job.claim, lines)

    def _renew(self) -> None:
        self._renewed_at = self.clock()
        for claim in self.rows.renew(list(self.claimed)):
            self.claimed.pop(claim, None)

    def _renew_in_between(self) -> None:
        """Renew leases within a tick too, because with a slow API it may take longer than a lease."""
        if self.clock() - self._renewed_at >= RENEW_SECONDS:
            self._renew()

    def _start_more(self) -> None:
        # One after the other: when the cluster refuses one, the others are left to wait.
        while self.room > 0 and not self.trouble:
            lots = self.rows.claim(1)
            for job in lots:
                self.claimed[job.claim] = Claimed(job, self.clock())
                self._create(self.claimed[job.claim])
            self._renew_in_between()
            if not lots:
                return

    def _create(self, claimed: Claimed) -> None:
        """Create a lot's Job. When the API fails, the next tick tries again, because the Job is missing then."""
        if self.trouble:
            return
        try:
            self.cluster.create(lot_manifest(claimed.job, self.tenant))
            claimed.is_made = True
        except JobRefused as error:
            self._closed_until = self.clock() + CLOSED_SECONDS[error.code]
            self._fail(claimed.job.claim, error.code, str(error))
        except SandboxUnavailable as error:
            logger.warning("A Job could not be created: %s", error)
            self.trouble = str(error)

    def _fail(self, claim: str, code: str, sentence: str) -> None:
        self.rows.fail(claim, code, sentence)
        self.claimed.pop(claim, None)

    def _delete(self, job: Plain) -> None:
        """Delete a Job. When the API fails, a later tick finds it without a live claim."""
        if self.trouble:
            return
        try:
            self.cluster.delete(job["metadata"]["name"], job["metadata"]["uid"])
        except SandboxUnavailable as error:
            logger.warning("A Job could not be deleted: %s", error)
            self.trouble = str(error)


def _claims(job: Plain) -> set[str]:
    """Return the claims of all rows that a Job plays."""
    others = str((job["metadata"].get("annotations") or {}).get(OTHERS, ""))
    return {_label(job, CLAIM), *filter(None, others.split(","))}


def _label(found: Plain, name: str) -> str:
    return str((found["metadata"].get("labels") or {}).get(name, ""))


def _newest(pods: Sequence[Plain]) -> str:
    newest = max(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")))
    return str(newest["metadata"]["name"])
