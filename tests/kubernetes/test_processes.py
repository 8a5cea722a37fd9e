"""The process that serves the queue of lots, and the check, as an operator runs them."""

from __future__ import annotations

import io
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from core.jobs.lifecycle import jobs_end_delay
from core.jobs.worker_selectors import workers_alive
from core.models import Duel, JobState
from core.operations.expiry import jobs_requeue_expired
from tests.kubernetes.cluster import RealCluster
from tests.kubernetes.conftest import PATIENCE_SECONDS, Arena
from tests.kubernetes.playing import SLOW, Built, assert_played, duel_of, one_by_one
from tests.programs import production_variables, running
from tests.samples import FIRST, LAST, tic_tac_toe

pytestmark = [
    pytest.mark.cluster, pytest.mark.docker, pytest.mark.registry, pytest.mark.redis, pytest.mark.nightly,
    pytest.mark.slow, pytest.mark.django_db(transaction=True),
]  # fmt: skip


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < deadline
        jobs_requeue_expired()
        jobs_end_delay()
        time.sleep(0.5)


def test_a_killed_process_leaves_its_duel_to_the_next(
    arena: Arena, built: Built, settings: Settings, cluster: RealCluster, redis_url: str, tmp_path: Path
) -> None:
    environment = one_by_one()
    slow, last = built(environment, "slow", SLOW), built(environment, "last", LAST)
    login = f"{settings.PLAYER_REGISTRY_USER}:{settings.PLAYER_REGISTRY_PASSWORD}"
    variables = {
        **production_variables(redis_url, tmp_path),
        "KUBERNETES_OPTIONS": ",".join(
            f"{name}={value}"
            for name, value in {"image": settings.KUBERNETES_IMAGE, **settings.KUBERNETES_OPTIONS}.items()
        ),
        "SANDBOX": "kubernetes", "KUBECONFIG": str(cluster.kubeconfig),
        "PLAYER_REGISTRY": f"{login}@{settings.PLAYER_REGISTRY}" if login.strip(":") else settings.PLAYER_REGISTRY,
    }  # fmt: skip
    command = ("manage.py", "run_workers", "lots")
    with running(variables, *command) as process:
        # Before there is a duel, which could be over with the next sign of life.
        until(lambda: workers_alive("lots").filter(engine="Kubernetes v1.20.2", engine_error="").exists())
        duel = duel_of(slow, last)
        until(lambda: any(pod["status"].get("phase") == "Running" for pod in cluster.listed("pods")))
        process.send_signal(signal.SIGKILL)
        process.wait()
    with running(variables, *command) as process:
        until(lambda: Duel.objects.get(pk=duel.pk).is_over)
        duel.refresh_from_db()
        assert_played(duel)
        assert duel.attempt == 2
        # One that is asked to stop gives back what it has begun, and leaves nothing.
        other = duel_of(slow, last, number=2)
        until(lambda: Duel.objects.get(pk=other.pk).state == JobState.RUNNING)
        process.terminate()
        assert process.wait(timeout=PATIENCE_SECONDS) == 0
    other.refresh_from_db()
    assert (other.state, other.attempt) in ((JobState.QUEUED, 0), (JobState.SUCCEEDED, 1))
    assert not workers_alive("lots").exists()


def test_the_check_says_what_holds(arena: Arena, monkeypatch: pytest.MonkeyPatch, cluster: RealCluster) -> None:
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    shown = io.StringIO()
    # Volumes in memory have a size of their own since 1.22; before, what they hold counts as memory.
    with pytest.raises(CommandError, match=r"^2 of \d+ protections do not hold: small /tmp\."):
        call_command("kubernetes_check", stdout=shown)
    lines = shown.getvalue().splitlines()
    assert lines[0] == "Kubernetes v1.20.2, namespace arena-players"
    assert len(lines) > 100
    assert {line.split("  ")[0] for line in lines if line.endswith("NO")} == {"small /tmp"}


def test_the_check_of_rollouts_says_what_holds(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, cluster: RealCluster
) -> None:
    shown = io.StringIO()
    monkeypatch.setenv("KUBECONFIG", str(cluster.worlds_kubeconfig))
    call_command("kubernetes_check", "--worlds", stdout=shown)
    lines = shown.getvalue().splitlines()
    assert lines[0] == "Kubernetes v1.20.2, namespace arena-worlds"
    assert any(line.startswith("rights") and "may create pods/exec" in line for line in lines)
    assert any("may not create pods/exec in arena-players" in line for line in lines)
    # The account of lots may do none of it, and that of rollouts nothing among lots.
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    with pytest.raises(CommandError, match="cannot be checked|protections do not hold: rights"):
        call_command("kubernetes_check", "--worlds", stdout=shown)


def test_an_account_without_rights_plays_nothing(arena: Arena, built: Built, cluster: RealCluster) -> None:
    environment = tic_tac_toe()
    duel = duel_of(built(environment, "first", FIRST), built(environment, "last", LAST))
    cluster.kubectl("-n", "arena-players", "delete", "rolebinding", "arena-driver")
    try:
        driving = arena.driving()
        driving.step()
        assert "may not create jobs" in driving.engine()["engine_error"]
        duel.refresh_from_db()
        assert duel.state == JobState.QUEUED
    finally:
        cluster.apply_players()
    driving.step()
    assert driving.engine() == {"engine": "Kubernetes v1.20.2", "engine_error": ""}
    arena.play(duel, driver=driving.driver)
    assert_played(duel)
