"""Duels for tests on a cluster."""

from __future__ import annotations

from collections.abc import Callable

from core.jobs.lifecycle import job_enqueue
from core.models import Duel, Environment, JobState, LedgerEntry, Submission, Tournament
from core.tests import factories
from tests.samples import FIRST, tic_tac_toe

Built = Callable[[Environment, str, str], Submission]
SLOW = FIRST.replace("        return", "        import time; time.sleep(0.8)\n        return")
"""Takes its time, so that something can happen meanwhile."""
HUNGRY = FIRST.replace("    def step", "    def step(self, *_):\n        self.all = b'x' * (3 << 30)\n    def later")


def one_by_one() -> Environment:
    """An environment whose matches are played one after the other, so that a duel of SLOW takes half a minute."""
    environment = tic_tac_toe()
    environment.parallel_matches = 1
    environment.save()
    return environment


def duel_of(one: Submission, other: Submission, number: int = 1) -> Duel:
    edition, _ = Tournament.objects.get_or_create(environment=one.agent.environment, edition=1)
    row = factories.duel(edition, one, other, number=number, state=JobState.QUEUED)
    row.seed = 1
    row.save()
    job_enqueue(job=row)
    return row


def assert_played(duel: Duel) -> None:
    """It counts once, whatever happened before."""
    assert (duel.state, duel.error) == (JobState.SUCCEEDED, "")
    assert LedgerEntry.objects.filter(duel=duel).count() == 4
