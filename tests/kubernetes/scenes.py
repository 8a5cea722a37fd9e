"""What can happen to a lot on a real cluster, each with the verdict that a driver must come to.

`record` causes each of them and keeps what the cluster says. The verdicts follow from what was done to the lot and from
`docs/operator/kubernetes-operations.md`; they are not copied from what the code reads.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arena_kit.referee.part import Failed, PlayedPart
from arena_kit.referee.sealed import Writer
from tests.kubernetes.cluster import NAMESPACE
from tests.kubernetes.stage import NODE, REGISTRY, Stage

Plain = dict[str, Any]
Patch = Callable[[Plain], None]
CLAIM = "0123456789abcdef0123456789abcdef"
WAITS, SEALED, NOT_SEALED = "waits", "sealed", "result_not_sealed"
SLEEP = "sleep 600"
HUNGRY = "eat"
CHILD_HUNGRY = "(eat); sleep 600"


def _played() -> tuple[str, str]:
    """The log and the seal of a referee with one part."""
    log = io.StringIO()
    writer = Writer(log, CLAIM)
    writer.progress("duel-1", 20)
    writer.part("duel-1", PlayedPart(Failed("rules_missing", "It is of another version.")).to_bytes())
    return log.getvalue(), writer.seal()


LOG, SEAL_TEXT = _played()
LINES = LOG.splitlines(keepends=True)


def says(log: str = LOG, seal: str = SEAL_TEXT, *, code: int = 0, after: str = "sleep 3") -> str:
    """A referee that prints a log, writes a seal and ends."""
    return f"{after}; printf %s '{log}'; printf %s '{seal}' > /out/seal; exit {code}"


@dataclass(frozen=True, slots=True)
class Scene:
    """One thing that happens to a lot whose containers run shell scripts.

    must: the code of the verdict, "" when the referee ended by itself, or WAITS. why: the reason of the verdict.
    waits_for: the code with which it waits in the end, and before. cause: done once the containers run, or the pod is
    there, if it cannot run. read: what log and seal are read as: SEALED or a code.
    """

    name: str
    must: str
    why: str
    referee: str = SLEEP
    players: tuple[str, ...] = (SLEEP, SLEEP)
    prepare: str = "exit 0"
    patch: Patch = lambda job: None
    before: Plain | None = None
    cause: Callable[[Stage], None] | None = None
    waits_for: str = ""
    read: str = ""
    killed: frozenset[int] = frozenset()
    seconds: float = 60.0


def pod_of(job: Plain) -> Plain:
    found: Plain = job["spec"]["template"]["spec"]
    return found


def pod(**values: Any) -> Patch:
    return lambda job: pod_of(job).update(values)


def container(number: int, **values: Any) -> Patch:
    """number: 0 is the referee."""
    return lambda job: pod_of(job)["containers"][number].update(values)


def prepare(**values: Any) -> Patch:
    return lambda job: pod_of(job)["initContainers"][0].update(values)


def asks(number: int = 0, **values: str) -> Patch:
    """What a container requests, and has as its limit."""

    def patch(job: Plain) -> None:
        resources = pod_of(job)["containers"][number]["resources"]
        resources["requests"] |= values
        resources["limits"] |= values

    return patch


def without_volume(job: Plain) -> None:
    """Let a player mount a volume that cannot be made."""
    pod_of(job)["volumes"].append({"name": "no", "secret": {"secretName": "nothing"}})
    pod_of(job)["containers"][2]["volumeMounts"].append({"name": "no", "mountPath": "/no"})


def late(job: Plain) -> None:
    job["spec"]["activeDeadlineSeconds"] = 8


def both(*patches: Patch) -> Patch:
    def patch(job: Plain) -> None:
        for one in patches:
            one(job)

    return patch


def quota(**hard: str) -> Plain:
    return {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "scene", "namespace": NAMESPACE},
        "spec": {"hard": hard},
    }  # fmt: skip


LEAST_MEMORY = {
    "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "scene", "namespace": NAMESPACE},
    "spec": {"limits": [{"type": "Container", "max": {"memory": "16Mi"}}]},
}  # fmt: skip
RUNTIME = {
    "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "scene"}, "handler": "nothing",
}  # fmt: skip
NOWHERE = pod(nodeSelector={"kubernetes.io/hostname": "nowhere"})
NO_IMAGE = "127.0.0.1:9/arena/players@sha256:" + "0" * 64
LACKING = f"{REGISTRY}@sha256:" + "1" * 64
NO_SECRET = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "nothing", "key": "a"}}}]

TAKEN = "pod_disrupted"
A_NODE = "Its node is gone, which no player can cause."
NO_TIME = "The Job's own deadline ended it."
OWN_END = "The referee ended by itself, so its log and its seal decide."
REFEREES = "The referee's container is the arena's own, whatever ends it."
PLAYERS = "The kernel ended a player's container for lack of memory, and nothing took the pod away."
KILLED = "A player's container was killed, but not for lack of memory."
OWN_EXIT = "A player that finds a way to end its supervisor may not take back its losses."
NO_ROOM = "It waits for room, which costs no attempt."
NO_IMAGE_THERE = "Pulling again may help: the registry may be away for a moment."
REFUSED = "The settings or the cluster are wrong, for all lots alike."
NOT_YET = "There is nothing to complain of yet; the driver's patience ends it."
TOO_MUCH = "The kubelet took the pod away because of the arena's own container."


def _own_ends() -> list[Scene]:
    cut, doubled = "".join(LINES[:-1]), "".join([LINES[1], *LINES])
    long_log = "python3 -c 'for _ in range(700_000): print(\"progress duel-1 1\")'; sleep 25"
    return [
        Scene("the referee ends", "", OWN_END, says(), read=SEALED),
        Scene("six players", "", OWN_END, says(), (SLEEP,) * 6, read=SEALED),
        Scene("one player", "", OWN_END, says(), (SLEEP,), read=SEALED),
        Scene("a part has no result", "", OWN_END, says(code=10), read=SEALED),
        Scene("the players end first", "", OWN_END, says(after="sleep 8"), ("exit 0", "exit 0"), read=SEALED),
        Scene("there is no seal", "", OWN_END, f"sleep 3; printf %s '{LOG}'", read=NOT_SEALED),
        Scene("there is neither log nor seal", "", OWN_END, "sleep 3", read=NOT_SEALED),
        Scene("the seal is another claim's", "", OWN_END, says(seal=SEAL_TEXT.replace(CLAIM, CLAIM[::-1])),
              read=NOT_SEALED),
        Scene("the seal is cut", "", OWN_END, says(seal="x" * 5000), read=NOT_SEALED),
        Scene("the seal is a sentence", "", OWN_END, says(seal="It was killed by hand."), read=NOT_SEALED),
        Scene("the log is cut", "", OWN_END, says(cut), read=NOT_SEALED),
        Scene("a line of the log is there twice", "", OWN_END, says(doubled), read=NOT_SEALED),
        Scene("the log was rotated", "", OWN_END, says("".join(LINES[2:]), after=f"{LINES_BEFORE}; {long_log}"),
              read=NOT_SEALED, seconds=120),
    ]  # fmt: skip


LINES_BEFORE = f"printf %s '{''.join(LINES[:2])}'"


def _deaths() -> list[Scene]:
    last = says(after="sleep 14")
    return [
        Scene("the referee raises", "referee_failed", REFEREES, "sleep 3; exit 1"),
        Scene("the referee ends with 2", "referee_failed", REFEREES, "sleep 3; exit 2"),
        Scene("the referee is told to end", "referee_failed", REFEREES, "sleep 3; exit 143"),
        Scene("the referee runs out of memory", "referee_failed", REFEREES, HUNGRY, patch=asks(memory="64Mi")),
        Scene("the referee is killed", "referee_failed", REFEREES, cause=Stage.kill_referee),
        Scene("all containers are killed", "referee_failed", REFEREES, cause=Stage.kill_all),
        Scene("a player runs out of memory", "", PLAYERS, last, (HUNGRY, SLEEP), read=SEALED),
        Scene("the other player runs out of memory", "", PLAYERS, last, (SLEEP, HUNGRY), read=SEALED),
        Scene("both run out of memory", "", PLAYERS, last, (HUNGRY, HUNGRY), read=SEALED),
        Scene("a player and the referee run out of memory", "referee_failed", REFEREES, "sleep 8; eat",
              (HUNGRY, SLEEP), patch=asks(memory="64Mi")),
        Scene("a player's child runs out of memory", "", OWN_END, last, (CHILD_HUNGRY, SLEEP), read=SEALED),
        Scene("a player is killed", "", KILLED, last, read=SEALED, cause=Stage.kill_player, killed=frozenset({0})),
        Scene("one is killed, one runs out of memory", "", KILLED, last, (SLEEP, HUNGRY), read=SEALED,
              cause=Stage.kill_player, killed=frozenset({0})),
        Scene("a player ends with 1", "", OWN_EXIT, last, ("sleep 2; exit 1", SLEEP), read=SEALED),
        Scene("a player ends with 0", "", OWN_EXIT, last, ("sleep 2", SLEEP), read=SEALED),
        Scene("a player crashes", "", OWN_EXIT, last, ("sleep 2; exit 139", SLEEP), read=SEALED),
        Scene("all but the referee are gone", "", OWN_EXIT, last, ("exit 1", "exit 3"), read=SEALED),
        Scene("the first container fails", "referee_failed", REFEREES, prepare="exit 1"),
        Scene("the first container runs out of memory", "referee_failed", REFEREES, prepare=HUNGRY),
    ]  # fmt: skip


def _waits() -> list[Scene]:
    def waits(name: str, code: str, why: str, **more: Any) -> Scene:
        return Scene(name, WAITS, why, waits_for=code, **more)

    room, image, refused = "no_capacity", "image_missing", "pod_refused"
    return [
        waits("the first container takes long", "", NOT_YET, prepare=SLEEP),
        waits("no node fits", room, NO_ROOM, patch=NOWHERE),
        waits("no node has the processors", room, NO_ROOM, patch=asks(cpu="20")),
        waits("no node has the graphics card", room, NO_ROOM, patch=asks(1, **{"nvidia.com/gpu": "1"})),
        waits("only a pretended node is left", room, NO_ROOM, patch=pod(nodeSelector={"kube-up/hollow": "true"})),
        waits("the quota of pods is used up", room, NO_ROOM, before=quota(pods="0")),
        waits("the quota of memory is used up", room, NO_ROOM, before=quota(**{"limits.memory": "1Mi"})),
        waits("containers may not be as large", refused, REFUSED, before=LEAST_MEMORY),
        waits("there is no such account", refused, REFUSED, patch=pod(serviceAccountName="none")),
        waits("there is no such priority", refused, REFUSED, patch=pod(priorityClassName="none")),
        waits("there is no such runtime", refused, REFUSED, patch=pod(runtimeClassName="none")),
        waits("the referee's image is missing", image, NO_IMAGE_THERE, patch=container(0, image=NO_IMAGE)),
        waits("a player's image is missing", image, NO_IMAGE_THERE, patch=container(2, image=NO_IMAGE)),
        waits("the first container's image is missing", image, NO_IMAGE_THERE, patch=prepare(image=NO_IMAGE)),
        waits("an image has no name", image, NO_IMAGE_THERE, patch=container(1, image="NO//IMAGE")),
        waits("an image is never pulled", image, NO_IMAGE_THERE,
              patch=container(1, image="nothing:1", imagePullPolicy="Never")),
        waits("the registry lacks the image", image, NO_IMAGE_THERE, patch=container(1, image=LACKING)),
        waits("the registry refuses", image, NO_IMAGE_THERE,
              patch=both(pod(imagePullSecrets=[]), container(1, image=LACKING))),
        waits("a secret is missing", refused, REFUSED, patch=container(0, env=NO_SECRET)),
        waits("a player's secret is missing", refused, REFUSED, patch=container(1, env=NO_SECRET)),
        waits("the first container's secret is missing", refused, REFUSED, patch=prepare(env=NO_SECRET)),
        waits("a volume is missing", refused, REFUSED, patch=without_volume),
        waits("its nodes lack the runtime", refused, REFUSED, before=RUNTIME, patch=pod(runtimeClassName="scene")),
        Scene("the referee's program is missing", refused, REFUSED, patch=container(0, command=["/nothing"])),
        Scene("the first program is missing", refused, REFUSED, patch=prepare(command=["/nothing"])),
        Scene("a player's program is missing", "", OWN_END, says(after="sleep 10", code=10), read=SEALED,
              patch=container(1, command=["/nothing"])),
        Scene("the node has no room after all", TAKEN, A_NODE,
              patch=both(asks(cpu="20"), pod(nodeName=NODE))),
        Scene("the node is not the right one", TAKEN, A_NODE, patch=both(NOWHERE, pod(nodeName=NODE))),
    ]  # fmt: skip


def _taken() -> list[Scene]:
    return [
        Scene("its pod is deleted", TAKEN, "Someone took it away.", cause=Stage.delete_pod),
        Scene("its pod is deleted while it waits", TAKEN, "Someone took it away.", patch=NOWHERE,
              cause=Stage.delete_pod, waits_for="no_capacity"),
        Scene("its pod is removed at once", TAKEN, "Someone took it away.", cause=Stage.remove_pod),
        Scene("its Job is deleted after the pod", TAKEN, "Someone took it away.", cause=Stage.delete_job_last),
        Scene("its node is drained", TAKEN, A_NODE, cause=Stage.drain, seconds=90),
        Scene("its node loses power", TAKEN, A_NODE, cause=Stage.power_cut, seconds=120),
        Scene("its node loses power for a moment", TAKEN, A_NODE, cause=Stage.restart_node, seconds=120),
        Scene("its node is cut off", TAKEN, A_NODE, cause=Stage.freeze, seconds=120),
        Scene("its node is taken back", TAKEN, A_NODE, cause=Stage.delete_node, seconds=120),
        Scene("its kubelet is killed", "", OWN_END, says(after="sleep 20"), cause=Stage.restart_kubelet, read=SEALED),
        Scene("a more urgent pod takes its place", TAKEN, "The cluster took it away.", cause=Stage.preempt,
              patch=asks(cpu="1")),
        Scene("the referee fills its folder", TAKEN, TOO_MUCH, "fill 300 /tmp/a; sleep 600"),
        Scene("the referee fills its output folder", TAKEN, TOO_MUCH, "fill 64 /out/a; sleep 600"),
    ]  # fmt: skip


def _times() -> list[Scene]:
    over = "lot_timed_out"
    return [
        Scene("its time is over", over, NO_TIME, patch=late),
        Scene("its time is over before it begins", over, NO_TIME, prepare=SLEEP, patch=late),
        Scene("its time is over before there is room", over, NO_TIME, patch=both(late, NOWHERE),
              waits_for="no_capacity"),
        Scene("its time is over before its image is there", over, NO_TIME, waits_for="image_missing",
              patch=both(late, container(2, image=NO_IMAGE))),
        Scene("its time is over before it has a pod", over, NO_TIME, waits_for="no_capacity", patch=late,
              before=quota(pods="0")),
        Scene("its time is over with a player out of memory", over, NO_TIME, players=(HUNGRY, SLEEP), patch=late),
    ]  # fmt: skip


SCENES = (*_own_ends(), *_deaths(), *_waits(), *_taken(), *_times())
