"""Several workers at once, on a real database with real locks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.jobs.claims import claim_next, is_work_waiting
from core.jobs.control import job_cancel
from core.jobs.lifecycle import job_claim, job_enqueue, job_succeed
from core.jobs.states import StaleJob
from core.models import Build, CancelCode, Job, JobState
from core.tests import factories
from core.tests.concurrency import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def waiting_build() -> Build:
    row = factories.submission(factories.agent(factories.user("ann"), factories.environment()))
    return factories.build(row, JobState.QUEUED)


def test_of_workers_that_claim_together_one_gets_the_job() -> None:
    build = waiting_build()

    def claim(worker: str) -> Callable[[], Build | None]:
        return lambda: job_claim(kind=Build, job_id=build.pk, worker=worker)

    jobs = at_once(*(claim(f"worker-{number}") for number in range(6)))

    (winner,) = [job for job in jobs if job is not None]
    build.refresh_from_db()
    assert (build.worker, build.claim_token, build.attempt) == (winner.worker, winner.claim_token, 1)


@pytest.mark.slow
def test_workers_that_ask_for_the_next_job_at_once_claim_every_job_of_their_queues_exactly_once() -> None:
    environment = factories.environment()
    players = [factories.ready(factories.agent(factories.user(name), environment)) for name in ("ann", "bob")]
    tournament = factories.tournament(players)
    rows: list[Job] = []
    for number in range(2, 8):
        submission = factories.submission(players[0].agent)
        rows.append(factories.build(submission, JobState.QUEUED))
        rows.append(factories.validation(submission, JobState.QUEUED))
        rows.append(factories.duel(tournament, *players, number=number, state=JobState.QUEUED))
    for row in rows:
        job_enqueue(job=row)

    def work(queue: str, worker: str) -> Callable[[], list[tuple[str, int]]]:
        def run() -> list[tuple[str, int]]:
            claimed = []
            # With many at once one may find every head of a line taken although more wait.
            while is_work_waiting(queue):
                if (claim := claim_next(queue, worker=worker)) is not None:
                    claimed.append((claim.job.KIND, claim.job.pk))
            return claimed

        return run

    queues = ["build", "build", "duel", "duel", "duel", "quick"]
    claimed = at_once(*(work(queue, f"worker-{number}") for number, queue in enumerate(queues)))

    assert sorted(key for keys in claimed for key in keys) == sorted((row.KIND, row.pk) for row in rows)
    for row in rows:
        row.refresh_from_db()
        assert (row.state, row.attempt) == (JobState.RUNNING, 1)


def test_a_job_is_either_cancelled_or_finished() -> None:
    job = job_claim(kind=Build, job_id=waiting_build().pk, worker="worker-1")
    assert job is not None
    organiser_sees = Build.objects.get(pk=job.pk)

    def attempt(action: Callable[[], None]) -> Callable[[], bool]:
        def run() -> bool:
            try:
                action()
            except StaleJob:
                return False
            return True

        return run

    finished, cancelled = at_once(
        attempt(lambda: job_succeed(job=job)),
        attempt(lambda: job_cancel(job=organiser_sees, code=CancelCode.BY_ORGANISER, reason="Not wanted.")),
    )

    assert finished != cancelled
    assert Build.objects.get(pk=job.pk).state == (JobState.SUCCEEDED if finished else JobState.CANCELLED)
