"""A worker killed in each phase of a rollout that rows tell of: one result, one verdict, and nothing left."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from django.db import connections
from django.db.models.functions import Now

from arena_kit.rollout.attempt import Phase
from arena_kit.rollout.worlds.world import World
from core.jobs.lifecycle import jobs_end_delay
from core.jobs.worker import step
from core.models import JobState, Rollout, RolloutAgent, RolloutVerdict, WorldLease
from core.operations.expiry import jobs_requeue_expired
from core.rollouts import services
from core.rollouts.batches import AgentChoice, batch_create
from core.tests import applications, factories
from rollout_runner import working
from rollout_runner.following import Follower
from rollout_runner.host import engine_worlds, folder, worlds_reap
from rollout_runner.tests.places import containers, shop_built, worked

pytestmark = [
    pytest.mark.docker, pytest.mark.app_images, pytest.mark.browser_image, pytest.mark.slow, pytest.mark.nightly,
    pytest.mark.django_db(transaction=True),
]  # fmt: skip
STORING, STORED = "before it is stored", "after it was stored"
MOMENTS = (*(phase.value for phase in Phase), STORING, STORED)


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at(moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a worker of its own do the next rollout, which it does not survive."""
    connections.close_all()
    pid = os.fork()
    if not pid:
        usual, finish = Follower.on_phase, services.rollout_finish
        if moment == STORING:
            monkeypatch.setattr(working, "rollout_finish", die)
        elif moment == STORED:

            def finished(**given: Any) -> None:
                finish(**given)
                die()

            monkeypatch.setattr(working, "rollout_finish", finished)
        else:

            def on_phase(follower: Follower, phase: Phase, world: World | None) -> None:
                usual(follower, phase, world)
                if phase.value == moment:
                    die()

            monkeypatch.setattr(Follower, "on_phase", on_phase)
        step("rollout")
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL


def test_a_worker_killed_in_any_phase_costs_an_attempt_and_nothing_else(
    clean: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = shop_built("send-11")
    ann = factories.user("ann")
    for moment in MOMENTS:
        batch = batch_create(
            owner=ann, environment=package.environment, tasks=applications.tasks(package.environment),
            agent=AgentChoice(RolloutAgent.SCRIPTED),
        )  # fmt: skip
        killed_at(moment, monkeypatch)
        rollout = batch.rollouts.get()
        is_stored = moment == STORED
        assert rollout.state == (JobState.SUCCEEDED if is_stored else JobState.RUNNING), moment
        # Its lease is over: no heartbeat renews it.
        Rollout.objects.filter(state=JobState.RUNNING).update(lease_expires_at=Now())
        assert jobs_requeue_expired() == (0 if is_stored else 1), moment
        jobs_end_delay()
        worlds_reap()
        assert (containers(), engine_worlds(pause_image="x").alive()) == (set(), frozenset()), moment
        assert worked() == (0 if is_stored else 1), moment
        rollout.refresh_from_db()
        assert (rollout.state, rollout.outcome) == (JobState.SUCCEEDED, "SOLVED"), (moment, rollout.log)
        assert rollout.attempt == (1 if is_stored else 2), moment
        assert rollout.verdicts.count() == 1, moment
        for name in ("browsers", "models"):
            assert not folder(name).exists() or not list(folder(name).iterdir()), (moment, name)
    assert RolloutVerdict.objects.count() == Rollout.objects.filter(batch__owner=ann).count() == len(MOMENTS)
    worlds_reap()
    assert containers() == set()
    assert not WorldLease.objects.filter(closed_at=None).exists()
