"""The Jobs of the arena as a cluster's API takes them: one pod behind walls, as plain data. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from arena_kit.environment.spec import Limits
from arena_kit.sandbox.docker import COMMAND, PACKAGES, PIDS_LIMIT, PLAYER, TMP
from arena_kit.sandbox.startup import PLAYER_ENVIRONMENT

MIB = 1 << 20
MEMORY_HEADROOM_BYTES = 64 * MIB
"""Memory of a player's container above the player's limit, so that process 1 ends the player before the kernel ends
them both."""
START_ALLOWANCE_SECONDS = 900
"""Seconds of a Job beyond the time of its work: it waits for room, images are fetched, players and services start."""
GRACE_SECONDS = 5
LOST_NODE_SECONDS = 30
REFEREE_UID, FIRST_PLAYER_UID, PLAYER_UIDS = 65000, 100_000, 900_000
"""Kernels count a user's processes over all containers, so the players on one node should have different users."""
FIRST_OWN_UID = 60_001
"""With a user namespace of its own, a pod has the 65,536 users that the kubelet gives to no other pod."""
COMPONENT, CLAIM, TENANT = "app.kubernetes.io/component", "arena/claim", "arena/site"
MOST_CHARACTERS = 63
"""The length of a label's value."""
APART = "-check"
GPU = "nvidia.com/gpu"
CHANNEL = "/channel"
NOTHING = "nothing"
"""The volume that covers what containers of a pod would share."""
NO_QUEUES = "/dev/mqueue"
NO_SHARED_MEMORY = "/dev/shm"  # noqa: S108  # the folder that is covered


@dataclass(frozen=True, slots=True)
class Tenant:
    """An arena on a cluster, which may have others.

    id: of the arena, so that several may share a namespace. referee_image: the arena's own image, by digest.
    runtime_class: e.g. gvisor; "" for the cluster's own. queue: Kueue's queue, "" without it. node_selector,
    tolerations: which nodes to use, as the API takes them. host_users: False asks for a user namespace per pod, which
    needs a recent cluster.
    """

    id: str
    namespace: str
    referee_image: str
    runtime_class: str = ""
    priority_class: str = ""
    pull_secret: str = ""
    queue: str = ""
    service_account: str = "arena-nobody"
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = ()
    host_users: bool = True

    def apart(self) -> Tenant:
        """Return the same for Jobs that are not work of this arena, and that its drivers therefore leave alone."""
        return replace(self, id=f"{self.id[: MOST_CHARACTERS - len(APART)]}{APART}")


@dataclass(frozen=True, slots=True)
class PodPlayerSpec:
    """A player's container.

    image: by digest. fresh: load it for one duel only. folder: with the player's code. has_model: whether it reaches a
    language model, by a connection that process 1 makes.
    """

    image: str
    limits: Limits
    fresh: bool = False
    folder: str = PLAYER
    has_model: bool = False


def job_manifest(
    name: str, labels: Mapping[str, str], pod: Mapping[str, Any], tenant: Tenant, *, seconds: float, ttl_seconds: int
) -> dict[str, Any]:
    """Return a Job of one pod.

    labels: of the Job and its pod. pod: its specification. seconds: of its work, after which the cluster ends it.
    ttl_seconds: after which the cluster removes a Job that is over, if no worker does.
    """
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": tenant.namespace,
            "labels": {
                "app.kubernetes.io/name": "rl-arena",
                **labels,
                **({"kueue.x-k8s.io/queue-name": tenant.queue} if tenant.queue else {}),
            },
        },
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": round(seconds) + START_ALLOWANCE_SECONDS,
            "ttlSecondsAfterFinished": ttl_seconds,
            **({"suspend": True} if tenant.queue else {}),
            "template": {"metadata": {"labels": dict(labels)}, "spec": dict(pod)},
        },
    }


def pod_settings(tenant: Tenant, *, has_gpus: bool) -> dict[str, Any]:
    """Return what all pods of the arena have in common beside their containers."""
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "serviceAccountName": tenant.service_account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "shareProcessNamespace": False,
        **({} if tenant.host_users else {"hostUsers": False}),
        **({"runtimeClassName": tenant.runtime_class} if tenant.runtime_class else {}),
        **({"priorityClassName": tenant.priority_class} if tenant.priority_class else {}),
        **({"imagePullSecrets": [{"name": tenant.pull_secret}]} if tenant.pull_secret else {}),
        **({"nodeSelector": dict(tenant.node_selector)} if tenant.node_selector else {}),
        # No name is looked up: there is no network.
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["127.0.0.1"]},
        "securityContext": {
            "runAsNonRoot": True,
            "fsGroup": REFEREE_UID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "tolerations": [
            *(
                {
                    "key": f"node.kubernetes.io/{why}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": LOST_NODE_SECONDS,
                }
                for why in ("not-ready", "unreachable")
            ),
            *map(dict, tenant.tolerations),
            # Nodes with graphics cards are often kept from all other pods.
            *([{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}] if has_gpus else []),
        ],
    }


def container(
    name: str,
    image: str,
    mounts: Sequence[Mapping[str, Any]],
    *,
    uid: int = REFEREE_UID,
    gid: int | None = None,
    read_only: bool = True,
    **more: Any,
) -> dict[str, Any]:
    """Return a container, which is behind all walls.

    uid: by default that of the arena's own containers. gid: by default as `uid`. more: what else the API takes.
    """
    return {
        "name": name,
        "image": image,
        **more,
        "securityContext": {
            "runAsUser": uid,
            "runAsGroup": uid if gid is None else gid,
            "runAsNonRoot": True,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": read_only,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": list(mounts),
    }


def player_container(player: PodPlayerSpec, *, name: str, uid: int, cpu: int, channel: str, tmp: str) -> dict[str, Any]:
    """Return a player's container. cpu: thousandths of a processor that it requests. channel, tmp: its volumes."""
    limits = player.limits
    memory = f"{player_mebibytes(limits)}Mi"
    # A device belongs to one container; the names of other makers' devices are for a cluster's own rules.
    gpus = {GPU: str(limits.gpu_count)} if limits.gpu_count else {}
    return container(
        name, player.image,
        [
            mount(channel, CHANNEL, read_only=True),
            mount(tmp, TMP),
            # The containers of a pod share an IPC namespace, and with it what lies in these two folders.
            mount(NOTHING, NO_SHARED_MEMORY, read_only=True),
            mount(NOTHING, NO_QUEUES, read_only=True),
        ],
        uid=uid,
        command=["/bin/sh", "-c", COMMAND, "sh"],
        args=[
            "--channel", CHANNEL, "--player", player.folder, "--packages", PACKAGES, "--wipe", TMP, "--pod",
            "--pids", str(PIDS_LIMIT), "--log-limit", str(limits.log_limit_bytes),
            "--memory-limit", str(limits.memory_limit_bytes), *(["--fresh"] if player.fresh else []),
            *(["--model"] if player.has_model else []),
        ],
        workingDir=TMP,
        env=env_of({**PLAYER_ENVIRONMENT, "HOME": TMP}),
        resources={
            "requests": {"cpu": f"{cpu}m", "memory": memory, **gpus},
            "limits": {"cpu": f"{round(limits.cpu_count * 1000)}m", "memory": memory, "ephemeral-storage": "64Mi",
                       **gpus},
        },
    )  # fmt: skip


def player_mebibytes(limits: Limits) -> int:
    """Return the memory of a player's container."""
    return -(-(limits.memory_limit_bytes + MEMORY_HEADROOM_BYTES) // MIB)


def pod_player_uid(name: str) -> int:
    """Return the user of a player by a name that no other one has."""
    digest = hashlib.sha256(name.encode()).digest()
    return FIRST_PLAYER_UID + int.from_bytes(digest[:8], "big") % PLAYER_UIDS


def env_of(variables: Mapping[str, str]) -> list[dict[str, str]]:
    """Return variables as the API takes them."""
    return [{"name": name, "value": value} for name, value in variables.items()]


def mount(volume: str, path: str, *, read_only: bool = False) -> dict[str, Any]:
    """Return where a container has a volume."""
    return {"name": volume, "mountPath": path, **({"readOnly": True} if read_only else {})}


def folder_volume(name: str, size: int) -> dict[str, Any]:
    """Return a volume on the node's disk, which goes with the pod."""
    return {"name": name, "emptyDir": {"sizeLimit": f"{size // MIB}Mi"}}


def memory_volume(name: str, size: int) -> dict[str, Any]:
    """Return a volume in memory."""
    return {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": f"{-(-size // MIB)}Mi"}}
