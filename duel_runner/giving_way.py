"""Lets a duel give way: its worker does the short work that people and programs wait for, then plays on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from django.db.models import Q

from core.jobs.claims import Claim, claim_head, waiting
from core.jobs.heartbeat import activity
from core.jobs.hosts import worker_name
from core.jobs.registry import SERVICES
from core.jobs.worker import may_begin, perform
from core.models import Duel, Evaluation, Job, Validation

LOOK_SECONDS = 1.0
"""How long a duel is played between two looks at what waits."""
LONGEST_AWAY_SECONDS = 60.0
"""A duel gives way for this long, and for as long as it was played: what others ask for does not keep it for ever."""
ASKED: Mapping[type[Job], Q] = {Validation: Q(), Duel: Q(run__isnull=False), Evaluation: Q(run__isnull=False)}
"""The jobs that people and programs wait for, by kind. Heavy environments are left out: their work is long."""


class GivingWay:
    """Does what is asked for while a job is played. Its clock stands still meanwhile, so the players pay nothing."""

    def __init__(self, job: Job, clock: Callable[[], float] = time.monotonic) -> None:
        self._job, self._clock = job, clock
        self._begun = self._looked_at = clock()
        self._away = 0.0

    def clock(self) -> float:
        """Return the seconds of a clock that stands still while other work is done."""
        return self._clock() - self._away

    def give_way(self) -> bool:
        """Do one job that is asked for, if there is one and it is time to look; return whether one was done."""
        now = self.clock()
        is_long = self._away > LONGEST_AWAY_SECONDS + now - self._begun
        if is_asked(self._job) or is_long or now - self._looked_at < LOOK_SECONDS or not may_begin():
            return False
        self._looked_at, begun = now, self._clock()
        claim = _claim()
        if claim is not None:
            try:
                perform(claim.job, claim.perform)
            finally:
                self._away += self._clock() - begun
                activity.begin(self._job)
        return claim is not None


def is_asked(job: Job) -> bool:
    """Return whether people or programs wait for a job."""
    return isinstance(job, Validation) or getattr(job, "run_id", None) is not None


def _claim() -> Claim | None:
    for line in SERVICES["duel"].lines:
        if line.kind in ASKED and not line.where.get("is_heavy"):
            rows = waiting(line).filter(ASKED[line.kind])
            job = claim_head(rows, worker_name()) if rows.exists() else None
            if job is not None:
                return Claim(job, line.action(), line)
    return None
