"""Reads the cluster's answers about Jobs, pods, containers and events: they wait, run, or ended by whose fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from arena_kit.sandbox.ending import Ending

PLATFORM_FAILED = 10
"""The referee's exit status when a part of the lot has no result."""
REFEREE = "referee"
PLAYER_PREFIX = "player-"
OUT_OF_MEMORY = "OOMKilled"
KILLED_STATUS = 137
UNKNOWN_ENDS = frozenset({"Unknown", "ContainerStatusUnknown"})
"""Reasons of a container that was there before its node or the node's runtime was started again, and not afterwards."""
IMAGE_REASONS = frozenset({"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"})
REFUSAL_REASONS = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun"}
)
JOB_REFUSALS = frozenset({"FailedCreate"})
POD_REFUSALS = frozenset({"FailedCreatePodSandBox", "FailedMount", "FailedAttachVolume"})
"""Reasons of events of a pod whose containers a node cannot begin with. Its status does not say so."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """It has not begun to play. code: "" while there is nothing to complain of. sentence: for people."""

    code: str = ""
    sentence: str = "It waits for its containers."


@dataclass(frozen=True, slots=True)
class Running:
    """The referee plays."""


@dataclass(frozen=True, slots=True)
class Ended:
    """It has ended. code: "" when the referee ended by itself, and its log and seal are to be read.

    seal: the referee's termination message. killed: the numbers, from 0, of the players whose containers were killed,
    but not by the kernel for lack of memory.
    """

    code: str
    sentence: str
    seal: str = ""
    killed: frozenset[int] = frozenset()


Status = Waiting | Running | Ended


def status_of(
    job: Mapping[str, Any],
    pods: Sequence[Mapping[str, Any]],
    events: Iterable[Mapping[str, Any]] = (),
    *,
    main: str = REFEREE,
) -> Status:
    """Return the state of a lot by the API's objects, as plain data.

    pods: those of the Job, of which the newest counts. events: of the Job and its pods. main: the container that
    decides whether it runs and whether it has ended.
    """
    condition = _conditions(job)
    pod = max(pods, key=lambda pod: str(pod.get("metadata", {}).get("creationTimestamp", "")), default=None)
    if pod is None:
        return _without_pod(job, condition, events)
    containers = states_of(pod)
    referee = containers.get(main, {}).get("terminated")
    has_result = referee is not None and referee.get("exitCode") in (0, PLATFORM_FAILED)
    disrupted = disruption(pod, has_result=has_result)
    if referee is not None and has_result and not disrupted:
        return Ended("", "", str(referee.get("message") or ""), _killed(containers))
    if "DeadlineExceeded" in (condition.get("Failed"), condition.get("FailureTarget")) or _is_late(job, pod):
        return Ended("lot_timed_out", "The Job took longer than its deadline.")
    if disrupted:
        return Ended("pod_disrupted", f"The cluster took the pod away: {disrupted}")
    if referee is not None:
        return _failed(main, referee)
    for name, state in states_of(pod, "initContainerStatuses").items():
        if (begun := state.get("terminated", {})).get("exitCode"):
            return _failed(name, begun)
    if pod.get("status", {}).get("phase") in ("Failed", "Succeeded", "Unknown"):
        return Ended("container_killed", "The pod ended, and the cluster does not say why.")
    stuck = _stuck(pod)
    if stuck.code:
        return stuck
    return Running() if "running" in containers.get(main, {}) else _refusal(events)


def states_of(pod: Mapping[str, Any], field: str = "containerStatuses") -> dict[str, dict[str, Any]]:
    """Return the states of a pod's containers by name: waiting, running or terminated."""
    statuses = pod.get("status", {}).get(field) or ()
    return {
        status["name"]: {key: value for key, value in (status.get("state") or {}).items() if value is not None}
        for status in statuses
    }


def ending_of(terminated: Mapping[str, Any]) -> Ending:
    """Return how a container ended. Only the kernel, for lack of memory, and the cluster kill all of one."""
    reason = terminated.get("reason")
    if reason == OUT_OF_MEMORY:
        return Ending.OUT_OF_MEMORY
    is_from_outside = reason in UNKNOWN_ENDS or terminated.get("exitCode") == KILLED_STATUS
    return Ending.KILLED_FROM_OUTSIDE if is_from_outside else Ending.EXITED


def _failed(name: str, ended: Mapping[str, Any]) -> Ended:
    """Return the end of a lot by one of the arena's own containers."""
    if ended.get("reason") in REFUSAL_REASONS:
        return Ended("pod_refused", f"The node refuses the container {name}: {_short(ended.get('message', ''))}")
    if ended.get("reason") in UNKNOWN_ENDS:
        return Ended("pod_disrupted", f"The cluster lost the container {name}: its node was started again.")
    why = "ran out of memory" if ended.get("reason") == OUT_OF_MEMORY else f"ended with {ended.get('exitCode')}"
    return Ended("referee_failed", f"The container {name} {why}.")


def _without_pod(job: Mapping[str, Any], condition: Mapping[str, str], events: Iterable[Mapping[str, Any]]) -> Status:
    if condition.get("Failed") == "DeadlineExceeded":
        return Ended("lot_timed_out", "The Job took longer than its deadline.")
    if job.get("spec", {}).get("suspend") is True:
        return Waiting("no_capacity", "The cluster's queue has not admitted it yet.")
    if "Failed" in condition or "Complete" in condition:
        return Ended("result_lost", "The Job ended, and its pod is gone with the result.")
    for event in events:
        if event.get("reason") in JOB_REFUSALS:
            message = str(event.get("message", ""))
            code = "no_capacity" if "exceeded quota" in message else "pod_refused"
            return Waiting(code, f"The cluster makes no pod: {_short(message)}")
    return Waiting()


def _stuck(pod: Mapping[str, Any]) -> Waiting:
    """Return why a pod does not begin."""
    status = pod.get("status", {})
    for condition in status.get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return Waiting("no_capacity", f"The cluster has no room: {_short(condition.get('message', ''))}")
    for name, state in {**states_of(pod, "initContainerStatuses"), **states_of(pod)}.items():
        waiting = state.get("waiting", {})
        reason = waiting.get("reason", "")
        message = _short(waiting.get("message", ""))
        if reason in IMAGE_REASONS:
            return Waiting("image_missing", f"The image of {name} cannot be fetched: {message}")
        if reason in REFUSAL_REASONS:
            return Waiting("pod_refused", f"The node refuses the container {name}: {message}")
    return Waiting()


def _refusal(events: Iterable[Mapping[str, Any]]) -> Waiting:
    """Return why a node cannot begin with a pod; only the newest event counts, because nodes try again."""
    newest = max(events, key=lambda event: str(event.get("lastTimestamp") or ""), default={})
    if newest.get("reason") in POD_REFUSALS:
        return Waiting("pod_refused", f"The node refuses the pod: {_short(newest.get('message', ''))}")
    return Waiting()


def _conditions(job: Mapping[str, Any]) -> dict[str, str]:
    """Return the reasons of a Job's conditions that hold, by their types."""
    conditions = job.get("status", {}).get("conditions") or []
    return {entry["type"]: str(entry.get("reason", "")) for entry in conditions if entry.get("status") == "True"}


def _is_late(job: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Return whether a pod was taken away because its Job's deadline is over.

    The Job's condition says so only later on clusters before 1.31, and a little later than the list of Jobs anywhere.
    """
    begun, seconds = job.get("status", {}).get("startTime"), job.get("spec", {}).get("activeDeadlineSeconds")
    metadata = pod.get("metadata", {})
    deleted, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds") or 0
    if not (begun and seconds and deleted):
        return False
    taken = datetime.fromisoformat(str(deleted)) - datetime.fromisoformat(str(begun))
    return taken.total_seconds() >= float(seconds) + float(grace)


def disruption(pod: Mapping[str, Any], *, has_result: bool = False) -> str:
    """Return why the cluster ended a pod; "" when it did not.

    has_result: whether its main container ended by itself.
    """
    status = pod.get("status", {})
    for condition in status.get("conditions") or []:
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return _short(condition.get("message") or condition.get("reason", ""))
    # Evicted, Preempting, NodeLost, OutOfcpu and more: a pod whose containers end has no reason of its own.
    if status.get("reason"):
        return _short(status.get("message") or status["reason"])
    # A pod that is being deleted and has not ended by itself was taken away: drained, or its node is gone.
    is_over = has_result and status.get("phase") in ("Succeeded", "Failed")
    if pod.get("metadata", {}).get("deletionTimestamp") and not is_over:
        return "it is being deleted."
    return ""


def _killed(containers: Mapping[str, Mapping[str, Any]]) -> frozenset[int]:
    """Return the numbers of the players whose containers were killed, but not for lack of memory."""
    return frozenset(
        int(name.removeprefix(PLAYER_PREFIX)) - 1
        for name, state in containers.items()
        if name.startswith(PLAYER_PREFIX) and ending_of(state.get("terminated", {})) is Ending.KILLED_FROM_OUTSIDE
    )


def _short(text: object) -> str:
    """Return a message of the cluster on one line, cut, with a full stop."""
    line = " ".join(str(text).split())[:300].rstrip(".")
    return f"{line}."
