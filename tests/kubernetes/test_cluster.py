"""Duels, validations and evaluations in pods of a real cluster, and what happens when parts of it are lost."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.cluster import client as cluster_calls
from arena_kit.cluster.client import ApiCluster
from arena_kit.cluster.lots.driver import Driver
from arena_kit.cluster.rights import Right
from arena_kit.image.manifests import Manifests
from arena_kit.tests.image.registries import RegistryServer
from core.jobs.lifecycle import job_enqueue
from core.models import Duel, DuelOutcome, Evaluation, JobState
from core.operations.expiry import jobs_requeue_expired
from core.tests import factories
from core.tests.working import run
from tests.kubernetes.cluster import NAMESPACE, RealCluster
from tests.kubernetes.conftest import Arena
from tests.kubernetes.playing import HUNGRY, SLOW, Built, assert_played, duel_of, one_by_one
from tests.kubernetes.tournaments import Figures, tournament
from tests.samples import FIRST, LAST, MIDDLE, SECOND, tic_tac_toe
from tests.workplaces import leave_workplace

pytestmark = [
    pytest.mark.cluster, pytest.mark.docker, pytest.mark.registry, pytest.mark.nightly, pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]  # fmt: skip
Judged = Callable[[str, Sequence[Duel]], Figures]


def expire_leases() -> None:
    """As half a minute after the death of a driver."""
    Duel.objects.filter(state=JobState.RUNNING).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    jobs_requeue_expired()


def test_what_pods_play_is_what_the_docker_sandbox_plays(arena: Arena, built: Built, settings: Settings) -> None:
    environment = tic_tac_toe()
    first, last = built(environment, "first", FIRST), built(environment, "last", LAST)
    validation = factories.validation(first, state=JobState.QUEUED)
    job_enqueue(job=validation)
    task = factories.task("frozen-lake", episodes=3)
    walker = built(task, "walker", FIRST)
    evaluation = factories.evaluation(walker, JobState.QUEUED)
    job_enqueue(job=evaluation)
    duel = duel_of(first, last)

    arena.play(validation, evaluation, duel)

    assert (validation.state, validation.error) == (JobState.SUCCEEDED, "")
    assert (evaluation.state, evaluation.error) == (JobState.SUCCEEDED, "")
    assert_played(duel)

    settings.SANDBOX = "docker"
    leave_workplace()
    again = duel_of(first, last, number=2)
    same = factories.evaluation(walker, JobState.QUEUED)
    Evaluation.objects.filter(pk=same.pk).update(order_secret=evaluation.order_secret)
    for job in (again, same):
        job_enqueue(job=job)
        run(job)
        job.refresh_from_db()
    assert (duel.record_sha256, duel.outcome) == (again.record_sha256, again.outcome)
    assert evaluation.record_sha256 == same.record_sha256
    with duel.player_1_log.open() as here, again.player_1_log.open() as there:
        assert here.read() == there.read()


def test_a_block_of_duels_has_the_records_of_the_docker_sandbox_and_outlives_a_lost_player(
    arena: Arena, built: Built, settings: Settings
) -> None:
    environment = tic_tac_toe()
    sources = {"first": FIRST, "middle": MIDDLE, "last": LAST, "hungry": HUNGRY}
    players = [built(environment, name, source) for name, source in sources.items()]
    duels = [duel_of(*pair, number=number) for number, pair in enumerate(itertools.combinations(players, 2), 1)]
    driver = arena.driver(lot_size=4)
    arena.play(*duels, driver=driver)
    for duel in duels:
        assert_played(duel)
        assert (duel.player_2 == players[-1]) == (duel.player_2_errors > 0)
        assert duel.attempt == 1
    # The one that takes too much memory takes its container from its other duels, which other pods play.
    pods = {duel.log.partition("in the pod of ")[2].split(".")[0] for duel in duels}
    assert 1 <= len(pods) <= 3

    settings.SANDBOX = "docker"
    leave_workplace()
    for number, duel in enumerate(duels[:2], 11):
        again = duel_of(duel.player_1, duel.player_2, number=number)
        run(again)
        again.refresh_from_db()
        assert (duel.record_sha256, duel.outcome) == (again.record_sha256, again.outcome)


def test_a_player_that_takes_too_much_memory_loses(arena: Arena, built: Built) -> None:
    environment = tic_tac_toe()
    duel = duel_of(built(environment, "first", FIRST), built(environment, "hungry", HUNGRY))
    arena.play(duel)
    assert_played(duel)
    assert duel.outcome == DuelOutcome.PLAYER_1


class Killed(BaseException):
    """The driver's process was killed."""


class Mortal:
    """Calls of a driver that is killed at one of them, before or after the cluster has done it."""

    def __init__(self, api: ApiCluster, name: str, *, after: bool) -> None:
        self._api, self._name, self._after = api, name, after

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._api, name)

        def made(*arguments: object, **named: object) -> Any:
            if name == self._name and not self._after:
                raise Killed
            answer = call(*arguments, **named)
            if name == self._name and (name != "jobs" or answer):
                raise Killed
            return answer

        return made


@pytest.mark.parametrize(
    ("call", "after"), [("create", False), ("create", True), ("jobs", True), ("log", True), ("delete", False)]
)
def test_a_driver_may_be_killed_at_each_step(
    arena: Arena, built: Built, judged: Judged, call: str, after: bool
) -> None:
    duels = tournament(tic_tac_toe(), built)
    dying = arena.driver(lambda api: Mortal(api, call, after=after))
    with pytest.raises(Killed):
        arena.until(dying, lambda: False)
    arena.drivers.remove(dying)
    expire_leases()
    arena.play(*duels)
    judged(f"driver killed {'after' if after else 'before'} {call}", duels)


def test_two_drivers_play_each_duel_once(arena: Arena, built: Built, judged: Judged) -> None:
    duels = tournament(tic_tac_toe(), built, (FIRST, MIDDLE, SECOND, LAST))
    other = arena.driver()

    def are_over() -> bool:
        other.tick()
        return not Duel.objects.exclude(state=JobState.SUCCEEDED).exists()

    one = arena.driver()
    arena.until(one, are_over)
    one.tick()
    found = judged("two drivers", duels)
    assert found.attempts == len(duels)


def test_while_the_api_is_away_nothing_is_lost(
    arena: Arena, built: Built, judged: Judged, cluster: RealCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_calls, "LIST_SECONDS", 1.0)
    duels = tournament(tic_tac_toe(), built)
    driver = arena.driver()
    driver.tick()
    with cluster.api_away():
        for _ in range(5):
            driver.tick()
            assert driver.trouble
    arena.play(*duels, driver=driver)
    assert not driver.trouble
    found = judged("API server away", duels)
    assert found.attempts == len(duels)


@pytest.mark.parametrize(("lose", "mend"), [("stop", "start"), ("freeze", "thaw")])
def test_a_lost_node_is_the_platforms_fault_and_its_duels_are_played_elsewhere(
    arena: Arena, built: Built, judged: Judged, cluster: RealCluster, lose: str, mend: str
) -> None:
    duels = tournament(one_by_one(), built, (SLOW, LAST, MIDDLE))
    driver = arena.driver()
    node = int(_busy_node(arena, cluster, driver).rpartition(".")[2])
    cluster.node(node, lose)
    try:
        arena.play(*duels, driver=driver)
    finally:
        cluster.node(node, mend)
    found = judged(f"node: {lose}", duels)
    # Nothing, if this old cluster has made another pod for the Job before the driver looked.
    assert set(found.faults) <= {"pod_disrupted", "job_gone", "result_lost"}


def test_a_drained_node_costs_an_attempt_at_most(
    arena: Arena, built: Built, judged: Judged, cluster: RealCluster
) -> None:
    duels = tournament(one_by_one(), built, (SLOW, LAST, MIDDLE))
    driver = arena.driver()
    node = _busy_node(arena, cluster, driver)
    try:
        cluster.kubectl("drain", node, "--force", "--delete-emptydir-data", "--timeout=120s")
        arena.play(*duels, driver=driver)
    finally:
        cluster.kubectl("uncordon", node)
    found = judged("node drained", duels)
    # Nothing, as for a lost node.
    assert set(found.faults) <= {"pod_disrupted", "job_gone", "result_lost"}


def test_a_killed_kubelet_costs_nothing(arena: Arena, built: Built, judged: Judged, cluster: RealCluster) -> None:
    duels = tournament(one_by_one(), built, (SLOW, LAST, MIDDLE))
    driver = arena.driver()
    # It comes back by itself, and the pods have run on meanwhile.
    cluster.node(int(_busy_node(arena, cluster, driver).rpartition(".")[2]), "restart")
    arena.play(*duels, driver=driver)
    found = judged("kubelet killed", duels)
    assert found.attempts == len(duels)


def test_a_deleted_image_is_the_platforms_fault(arena: Arena, built: Built, server: RegistryServer) -> None:
    environment = tic_tac_toe()
    first, last = built(environment, "first", FIRST), built(environment, "gone", f"# Gone.\n{LAST}")
    with Manifests(server.registry, is_plain=True) as manifests:
        manifests.remove(last.registry_digest)
    duel = duel_of(first, last)
    arena.until(arena.driver(), lambda: bool(Duel.objects.get(pk=duel.pk).history))
    duel.refresh_from_db()
    assert duel.history[0]["code"] == "image_missing"
    assert not duel.is_over


def test_what_this_old_cluster_would_drop_is_refused(arena: Arena, built: Built, cluster: RealCluster) -> None:
    """Without `suspend`, a Job for Kueue would start at once."""
    environment = tic_tac_toe()
    duel = duel_of(built(environment, "first", FIRST), built(environment, "last", LAST))
    arena.tenant = replace(arena.tenant, queue="players")
    driver = arena.driver()
    driver.tick()
    duel.refresh_from_db()
    assert duel.history[0]["code"] == "pod_refused"
    assert "drops suspend" in duel.history[0]["error"]
    assert not cluster.listed("jobs")


def test_without_quota_lots_wait_and_are_played_once_there_is_room(
    arena: Arena, built: Built, judged: Judged, cluster: RealCluster
) -> None:
    duels = tournament(tic_tac_toe(), built)
    cluster.apply(_quota("0"))
    try:
        driver = arena.driver()
        for _ in range(6):
            driver.tick()
            time.sleep(0.5)
        assert {held.waits_for for held in driver.claimed.values()} == {"no_capacity"}
        assert driver.room == 0
    finally:
        cluster.apply(_quota("40"))
    # The controller of Jobs tries again after a pause that grows.
    arena.play(*duels, driver=driver)
    found = judged("quota zero", duels)
    assert found.attempts == len(duels)


def test_a_lot_beyond_its_deadline_is_ended(arena: Arena, built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = one_by_one()
    # Three seconds in all.
    allowance = 3 - round(environment.duel_seconds)
    monkeypatch.setattr("arena_kit.cluster.manifest.START_ALLOWANCE_SECONDS", allowance)
    duel = duel_of(built(environment, "slow", SLOW), built(environment, "last", LAST))
    driver = arena.driver()
    arena.until(driver, lambda: bool(Duel.objects.get(pk=duel.pk).history))
    assert Duel.objects.get(pk=duel.pk).history[0]["code"] == "lot_timed_out"


def test_a_driver_is_given_its_rights_and_no_others(arena: Arena) -> None:
    api = ApiCluster(arena.tenant, kubeconfig=arena.kubeconfig)
    api.check()
    assert api.version().startswith("v1.")
    beyond = [
        Right("get", "secrets"),
        Right("create", "pods"),
        Right("create", "pods", subresource="exec"),
        Right("list", "pods", namespace="kube-system"),
        Right("list", "nodes", namespace=""),
        Right("update", "jobs", "batch"),
    ]
    assert [str(right) for right in beyond if api.may(right)] == []


def _busy_node(arena: Arena, cluster: RealCluster, driver: Driver) -> str:
    """Tick until a pod runs; return its node."""
    nodes: list[str] = []

    def has_begun() -> bool:
        nodes.extend(pod["spec"]["nodeName"] for pod in cluster.listed("pods") if _is_running(pod))
        return bool(nodes)

    arena.until(driver, has_begun)
    return nodes[0]


def _is_running(pod: Mapping[str, Any]) -> bool:
    return bool(pod["status"].get("phase") == "Running")


def _quota(pods: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "test", "namespace": NAMESPACE},
        "spec": {"hard": {"pods": pods}},
    }
