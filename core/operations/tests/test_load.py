"""How busy workers were, and what one more would do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from core.models import Build, JobState, Worker
from core.operations.load import percentile, queue_loads, waits
from core.tests import factories
from core.tests.factories import NOON


def test_jobs_wait_for_the_first_free_place_in_the_order_in_which_they_come() -> None:
    jobs = [(0.0, 10.0), (1.0, 10.0), (2.0, 10.0), (30.0, 5.0)]
    assert waits(jobs, 1) == [0, 9, 18, 0]
    assert waits(jobs, 2) == [0, 0, 8, 0]
    assert waits(jobs, 3) == [0, 0, 0, 0]


def test_the_percentile_is_a_wait_that_there_was() -> None:
    assert percentile([float(second) for second in range(1, 101)]) == 95
    assert percentile([7.0]) == 7
    assert percentile([]) == 0


@pytest.mark.django_db
@pytest.mark.both_databases
def test_a_queue_is_as_busy_as_its_jobs_were_long_and_one_more_worker_halves_its_line() -> None:
    alive = {"queue": "build", "version": "1.0", "python": "3.11", "host": "oak", "seen_at": timezone.now()}
    Worker.objects.create(name="oak-1", pid=1, started_at=NOON, **alive)
    agent = factories.agent(factories.user("ada"), factories.environment())
    begins = NOON - timedelta(hours=10)
    # Six builds of an hour each that came together: one worker did one after the other.
    for number in range(6):
        row = factories.build(factories.submission(agent), JobState.SUCCEEDED)
        started = begins + timedelta(hours=number)
        Build.objects.filter(pk=row.pk).update(
            created_at=begins, started_at=started, ended_at=started + timedelta(hours=1)
        )
    [load] = queue_loads(now=NOON)
    assert (load.name, load.workers, load.busy) == ("build", 1, 6 / 24)
    assert load.waited == 5 * 3600
    assert load.waited_with_one_more == 2 * 3600
