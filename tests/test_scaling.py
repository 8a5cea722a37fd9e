"""Hosts that are groups of real workers on this machine come for a tournament and go when it is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django_q.models import OrmQ
from pytest_django.fixtures import Settings

from arena_kit.ranking.pairing import round_robin
from core.models import Build, Duel, HostState, JobState, Submission, Validation, WorkerHost
from core.operations.scaling.decision import Policy
from core.operations.scaling.providers.local import LocalProvider
from core.operations.scaling.scaler import Scaler, host_drain
from core.operations.scaling.work import jobs_running
from core.tests.working import run
from core.tournaments.services import tournament_create
from tests.local_hosts import local_hosts
from tests.samples import FIRST, tic_tac_toe, upload

DEADLINE_SECONDS = 600
SLOW = FIRST.replace("return valid_actions", "__import__('time').sleep(0.05); return valid_actions")
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.nightly, pytest.mark.slow]


@pytest.fixture
def provider(settings: Settings, tmp_path: Path) -> Iterator[LocalProvider]:
    with local_hosts(settings, tmp_path, sandbox="process") as made:
        yield made


def played(count: int) -> None:
    """Have an edition of slow duels among so many players, without a worker to play it yet."""
    environment = tic_tac_toe()
    environment.matches_per_duel, environment.matches_per_validation = 20, 2
    environment.save()
    for number in range(count):
        upload(environment, f"slow-{number}", SLOW)
    for kind in (Build, Validation):
        for job in kind._default_manager.order_by("pk"):
            run(job)
    OrmQ.objects.all().delete()
    submissions = list(Submission.objects.valid().order_by("pk"))
    rounds = [[(submissions[a], submissions[b]) for a, b in pairs] for pairs in round_robin(count)]
    tournament_create(environment=environment, edition=1, submissions=submissions, rounds=rounds, seed=1)


def test_hosts_come_for_work_and_go_without_losing_a_duel(provider: LocalProvider) -> None:
    played(4)
    policy = Policy(minimum=0, maximum=2, target_seconds=60.0)
    scaler = Scaler(provider, policy, kind="local", queues=["duel"], worker="scaler")
    deadline = time.monotonic() + DEADLINE_SECONDS
    drained: WorkerHost | None = None
    while Duel.objects.exclude(state=JobState.SUCCEEDED).exists() or provider.hosts():
        assert time.monotonic() < deadline, list(WorkerHost.objects.values())
        scaler.look(every=timedelta(0))
        busy = [host for host in WorkerHost.objects.filter(state=HostState.READY) if jobs_running(host.name)]
        if busy and drained is None:
            # In the middle of its duel.
            drained = busy[0]
            assert host_drain(host=drained, reason="The test.")
        time.sleep(1)
    scaler.look(every=timedelta(0))

    assert drained is not None
    assert WorkerHost.objects.count() >= 2, "a drained host is replaced while there is work"
    assert set(WorkerHost.objects.values_list("state", flat=True)) == {HostState.ENDED}
    # Nothing was begun twice: what ran on a drained host was finished there.
    assert set(Duel.objects.values_list("state", "attempt")) == {(JobState.SUCCEEDED, 1)}
