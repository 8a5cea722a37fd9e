"""What a driver reads out of the cluster's objects: whether a lot waits, runs or ended, and by whose fault."""

from __future__ import annotations

from typing import Any

import pytest

from arena_kit.cluster.status import Ended, Running, Waiting, status_of

Plain = dict[str, Any]


def job(**conditions: str) -> Plain:
    held = [{"type": name, "status": "True", "reason": reason} for name, reason in conditions.items()]
    return {"metadata": {"name": "arena-duel-1-1-0123abcd"}, "status": {"conditions": held}}


def ended(code: int, reason: str = "Error", message: str = "") -> Plain:
    return {"state": {"terminated": {"exitCode": code, "reason": reason, "message": message}}}


def waits(reason: str, message: str = "") -> Plain:
    return {"state": {"waiting": {"reason": reason, "message": message}}}


RUNS: Plain = {"state": {"running": {"startedAt": "2026-11-23T12:00:00Z"}}}
UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available: 3 Insufficient memory.",
}


def pod(phase: Any = "Running", *, made: Any = "12:00", status: Any = None, **containers: Any) -> Plain:
    return {
        "metadata": {"name": "p", "creationTimestamp": f"2026-11-23T{made}:00Z"},
        "status": {
            "phase": phase,
            "containerStatuses": [{"name": name.replace("_", "-"), **state} for name, state in containers.items()],
            **(status or {}),
        },
    }


def deleted(found: Plain, grace: int = 0) -> Plain:
    """As a pod that was deleted at 12:01, after its grace at the latest."""
    times = {"deletionTimestamp": "2026-11-23T12:01:00Z", "deletionGracePeriodSeconds": grace}
    return {**found, "metadata": {**found["metadata"], **times}}


def limited(seconds: int) -> Plain:
    """A Job since 12:00 that may take this long."""
    return {"spec": {"activeDeadlineSeconds": seconds}, "status": {"startTime": "2026-11-23T12:00:00Z"}}


PLAYS = {"referee": RUNS, "player_1": RUNS, "player_2": RUNS}
EVICTED = {"reason": "Evicted", "message": "The node was low on resource: memory."}
TAKEN = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API"}


@pytest.mark.parametrize(
    ("found", "pods", "events", "code"),
    [
        pytest.param(job(), [], [], "", id="no pod yet"),
        pytest.param(job(), [pod("Pending")], [], "", id="no container yet"),
        pytest.param({**job(), "spec": {"suspend": True}}, [], [], "no_capacity", id="Kueue lets it wait"),
        pytest.param(job(), [pod("Pending", referee=waits("ContainerCreating"))], [], "", id="containers come up"),
        pytest.param(job(), [pod("Pending", status={"conditions": [UNSCHEDULABLE]})], [], "no_capacity", id="no room"),
        pytest.param(
            job(),
            [],
            [{"reason": "FailedCreate", "message": 'pods "p" is forbidden: exceeded quota: players'}],
            "no_capacity",
            id="quota",
        ),
        pytest.param(
            job(),
            [],
            [{"reason": "FailedCreate", "message": 'violates PodSecurity "restricted:latest"'}],
            "pod_refused",
            id="admission",
        ),
        pytest.param(
            job(), [pod("Pending", player_1=waits("ErrImageNeverPull"), referee=RUNS)], [], "image_missing", id="image"
        ),
        pytest.param(job(), [pod("Pending", player_1=waits("ImagePullBackOff"))], [], "image_missing", id="back-off"),
        pytest.param(
            job(), [pod("Pending", player_2=waits("CreateContainerConfigError"))], [], "pod_refused", id="config"
        ),
        pytest.param(
            job(),
            [pod("Pending", status={"initContainerStatuses": [{"name": "prepare", **waits("ErrImagePull")}]})],
            [],
            "image_missing",
            id="the arena's own image",
        ),
    ],
)
def test_a_lot_waits(found: Plain, pods: list[Plain], events: list[Plain], code: str) -> None:
    status = status_of(found, pods, events)
    assert isinstance(status, Waiting)
    assert status.code == code
    assert status.sentence.endswith(".")


@pytest.mark.parametrize(("newest", "code"), [("FailedMount", "pod_refused"), ("Pulling", "")])
def test_the_newest_event_of_a_pod_says_why_a_node_does_not_begin(newest: str, code: str) -> None:
    found = {"reason": newest, "message": "no volume", "lastTimestamp": "2026-11-23T12:00:02Z"}
    before = {"reason": "FailedCreatePodSandBox", "message": "no runtime", "lastTimestamp": "2026-11-23T12:00:01Z"}
    comes_up = [pod("Pending", referee=waits("ContainerCreating"))]
    status = status_of(job(), comes_up, [found, before])
    assert isinstance(status, Waiting)
    assert status.code == code
    assert status_of(job(), [pod(**PLAYS)], [found]) == Running()


def test_a_lot_runs_while_its_referee_does() -> None:
    assert status_of(job(), [pod(**PLAYS)]) == Running()
    assert status_of(job(), [pod(**{**PLAYS, "player_2": ended(137, "OOMKilled")})]) == Running()


@pytest.mark.parametrize(
    ("found", "pods", "code"),
    [
        pytest.param(job(Failed="DeadlineExceeded"), [], "lot_timed_out", id="deadline, pod removed"),
        pytest.param(job(Failed="DeadlineExceeded"), [deleted(pod(**PLAYS))], "lot_timed_out", id="deadline"),
        pytest.param(
            job(FailureTarget="DeadlineExceeded"),
            [deleted(pod(**PLAYS))],
            "lot_timed_out",
            id="deadline, newer cluster",
        ),
        pytest.param(limited(60), [deleted(pod(**PLAYS), grace=5)], "pod_disrupted", id="drained in time"),
        pytest.param(limited(55), [deleted(pod(**PLAYS), grace=5)], "lot_timed_out", id="deadline, not told yet"),
        pytest.param(
            job(Failed="BackoffLimitExceeded"), [pod("Failed", status=EVICTED)], "pod_disrupted", id="evicted"
        ),
        pytest.param(
            job(Failed="BackoffLimitExceeded"),
            [pod("Failed", status={"conditions": [TAKEN]}, referee=ended(137), player_1=ended(137))],
            "pod_disrupted",
            id="drained",
        ),
        pytest.param(job(), [deleted(pod(**PLAYS))], "pod_disrupted", id="drained, older cluster"),
        pytest.param(
            job(),
            [deleted(pod("Failed", referee=ended(137), player_1=ended(137)))],
            "pod_disrupted",
            id="drained, over",
        ),
        pytest.param(
            job(),
            [pod("Failed", status={"reason": "NodeShutdown", "message": "Pod was terminated"})],
            "pod_disrupted",
            id="node shut down",
        ),
        pytest.param(
            job(), [pod("Failed", status={"reason": "OutOfcpu"})], "pod_disrupted", id="the node has no room after all"
        ),
        pytest.param(
            job(), [pod("Failed", referee=ended(255, "Unknown"))], "pod_disrupted", id="the node was started again"
        ),
        pytest.param(
            job(), [pod(**{**PLAYS, "referee": ended(128, "StartError")})], "pod_refused", id="referee cannot begin"
        ),
        pytest.param(job(), [pod("Failed", referee=ended(137, "OOMKilled"))], "referee_failed", id="referee's memory"),
        pytest.param(job(), [pod("Failed", referee=ended(1))], "referee_failed", id="referee failed"),
        pytest.param(job(), [pod("Failed")], "container_killed", id="no reason is given"),
        pytest.param(job(), [pod("Unknown")], "container_killed", id="node is silent"),
        pytest.param(job(Failed="BackoffLimitExceeded"), [], "result_lost", id="pod removed"),
        pytest.param(job(Complete=""), [], "result_lost", id="complete, pod removed"),
    ],
)
def test_the_platform_ended_a_lot(found: Plain, pods: list[Plain], code: str) -> None:
    status = status_of(found, pods)
    assert isinstance(status, Ended)
    assert status.code == code
    assert status.sentence.endswith(".")


@pytest.mark.parametrize("exit_code", [0, 10])
def test_a_referee_that_ended_by_itself_has_a_seal(exit_code: int) -> None:
    finished = {"referee": ended(exit_code, "Completed", '{"claim": "x"}'), "player_1": ended(0), "player_2": RUNS}
    assert status_of(job(), [pod(**finished)]) == Ended("", "", '{"claim": "x"}')


def test_players_that_ran_out_of_memory_are_told_from_killed_ones() -> None:
    finished = {
        "referee": ended(0),
        "player_1": ended(137, "OOMKilled"),
        "player_2": ended(137),
        "player_3": ended(0),
        "player_4": ended(255, "Unknown"),
    }
    status = status_of(job(), [pod("Failed", **finished)])
    assert isinstance(status, Ended)
    assert (status.code, status.killed) == ("", frozenset({1, 3}))


def test_memory_is_nobodys_fault_when_the_pod_was_taken_away() -> None:
    finished = {"referee": ended(0, message="{}"), "player_1": ended(137, "OOMKilled")}
    status = status_of(job(), [pod("Failed", status=EVICTED, **finished)])
    assert isinstance(status, Ended)
    assert status.code == "pod_disrupted"


def test_the_newest_pod_of_a_job_counts() -> None:
    replaced = deleted(pod(made="12:00", **PLAYS))
    assert status_of(job(), [replaced, pod(made="12:05", **PLAYS)]) == Running()


@pytest.mark.parametrize("found", [{}, {"status": {}}, {"metadata": {}, "status": {"conditions": None}}])
def test_objects_without_a_status_yet_wait(found: Plain) -> None:
    assert status_of(found, []) == Waiting()
    assert status_of(found, [found]) == Waiting()


def test_a_pod_whose_first_container_fails_has_no_referee() -> None:
    failed = pod("Failed", status={"initContainerStatuses": [{"name": "prepare", **ended(1)}]})
    assert status_of(job(Failed="BackoffLimitExceeded"), [failed]) == Ended(
        "referee_failed", "The container prepare ended with 1."
    )
