"""The Job of a lot as the cluster's API takes it: pure data, made of what to play and how the cluster is set up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from arena_kit.environment.spec import Limits
from arena_kit.sandbox.docker import COMMAND, PACKAGES, PIDS_LIMIT, PLAYER, TMP, TMP_BYTES
from arena_kit.sandbox.startup import PLAYER_ENVIRONMENT

MIB = 1 << 20
MEMORY_HEADROOM_BYTES = 64 * MIB
"""Memory of a player's container above the player's limit, so that process 1 ends the player before the kernel ends
them both."""
START_ALLOWANCE_SECONDS = 900
"""Seconds of a Job beyond the time of play: it waits for room, images are fetched and players are loaded."""
FINISHED_SECONDS = 600
"""Seconds after which the cluster removes a Job whose driver has forgotten it."""
GRACE_SECONDS = 5
PLAYER_CPU, PLAYING_CPU = 300, 600
"""Thousandths of a processor that a player's container requests, and all of a pod at most: two play at a time."""
LOST_NODE_SECONDS = 30
REFEREE_UID, FIRST_PLAYER_UID, PLAYER_UIDS = 65000, 100_000, 900_000
"""Kernels count a user's processes over all containers, so the players on one node should have different users."""
FIRST_OWN_UID = 60_001
"""With a user namespace of its own, a pod has the 65,536 users that the kubelet gives to no other pod."""
COMPONENT, CLAIM, KIND, SITE = "app.kubernetes.io/component", "arena/claim", "arena/kind", "arena/site"
SPEC_HASH, OTHERS = "arena/spec-sha256", "arena/other-claims"
MOST_LETTERS = 63
"""The length of a label's value."""
APART = "-check"
GPU = "nvidia.com/gpu"
SEAL = "/out/seal"
CHANNEL = "/channel"
SCRATCH = {"name": "scratch", "mountPath": TMP}
"""The referee's own folder for temporary files, which no player has."""
NO_QUEUES = "/dev/mqueue"
NO_SHARED_MEMORY = "/dev/shm"  # noqa: S108  # the folder that is covered


@dataclass(frozen=True, slots=True)
class Site:
    """How lots run on a cluster.

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

    def apart(self) -> Site:
        """Return the same for Jobs that are not lots of this arena, and that its drivers therefore leave alone."""
        return replace(self, id=f"{self.id[: MOST_LETTERS - len(APART)]}{APART}")


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


@dataclass(frozen=True, slots=True)
class LotJob:
    """A lot to be started.

    claim: token of the claim. lot: the text of `Lot.to_json`. play_seconds: the time limit of all its parts together.
    step: 2 for the second lot of one claim, and so on. others: the claims of the other rows of a block.
    """

    kind: str
    id: int
    attempt: int
    claim: str
    lot: str
    players: tuple[PodPlayerSpec, ...]
    play_seconds: float
    step: int = 1
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the Job's name, which is the same whenever this claim starts this lot."""
        return f"arena-{self.kind}-{self.id}-{self.attempt}-{self.claim[:8]}-{self.step}"


def channel_of(number: int) -> str:
    """Return the folder of a player's channel in the referee's container, by the player's number from 0."""
    return f"/channel-{number + 1}"


def lot_manifest(job: LotJob, site: Site) -> dict[str, Any]:
    """Return the Job of a lot."""
    labels = {COMPONENT: "lot", CLAIM: job.claim, SITE: site.id, KIND: job.kind}
    spec = {
        "backoffLimit": 0,
        "completions": 1,
        "parallelism": 1,
        "podReplacementPolicy": "Failed",
        "activeDeadlineSeconds": round(job.play_seconds) + START_ALLOWANCE_SECONDS,
        "ttlSecondsAfterFinished": FINISHED_SECONDS,
        **({"suspend": True} if site.queue else {}),
        "template": {"metadata": {"labels": labels}, "spec": _pod(job, site)},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job.name,
            "namespace": site.namespace,
            "labels": {
                "app.kubernetes.io/name": "rl-arena",
                **labels,
                **({"kueue.x-k8s.io/queue-name": site.queue} if site.queue else {}),
            },
            "annotations": {
                **({OTHERS: ",".join(job.others)} if job.others else {}),
                SPEC_HASH: hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest(),
            },
        },
        "spec": spec,
    }


def _pod(job: LotJob, site: Site) -> dict[str, Any]:
    numbers = range(len(job.players))
    return {
        **pod_settings(site, has_gpus=any(player.limits.gpu_count for player in job.players)),
        "initContainers": [_prepare(site, numbers)],
        "containers": [_referee(job, site, numbers), *(_player(job, site, number) for number in numbers)],
        "volumes": [
            {"name": "out", "emptyDir": {"sizeLimit": "16Mi"}},
            {"name": "scratch", "emptyDir": {"sizeLimit": "128Mi"}},
            {"name": "nothing", "emptyDir": {"sizeLimit": "1Mi"}},
            *({"name": f"channel-{n + 1}", "emptyDir": {"sizeLimit": "16Mi"}} for n in numbers),
            *(
                {"name": f"tmp-{n + 1}", "emptyDir": {"medium": "Memory", "sizeLimit": f"{TMP_BYTES // MIB}Mi"}}
                for n in numbers
            ),
        ],
    }  # fmt: skip


def pod_settings(site: Site, *, has_gpus: bool) -> dict[str, Any]:
    """Return what all pods of the arena have in common beside their containers."""
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "serviceAccountName": site.service_account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "shareProcessNamespace": False,
        **({} if site.host_users else {"hostUsers": False}),
        **({"runtimeClassName": site.runtime_class} if site.runtime_class else {}),
        **({"priorityClassName": site.priority_class} if site.priority_class else {}),
        **({"imagePullSecrets": [{"name": site.pull_secret}]} if site.pull_secret else {}),
        **({"nodeSelector": dict(site.node_selector)} if site.node_selector else {}),
        # No name is looked up by anybody: there is no network.
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["127.0.0.1"]},
        "securityContext": {
            "runAsNonRoot": True,
            "fsGroup": REFEREE_UID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "tolerations": [
            *(
                {"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute",
                 "tolerationSeconds": LOST_NODE_SECONDS}
                for why in ("not-ready", "unreachable")
            ),
            *map(dict, site.tolerations),
            # Nodes with graphics cards are often kept from all other pods.
            *([{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}] if has_gpus else []),
        ],
    }  # fmt: skip


def _prepare(site: Site, numbers: Sequence[int]) -> dict[str, Any]:
    """Return the container that copies the player server into every channel before any player starts."""
    return {
        "name": "prepare",
        "image": site.referee_image,
        "command": ["python3", "-m", "arena_kit.cluster.lots.prepare"],
        "args": [channel_of(number) for number in numbers],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}},
        "securityContext": walls(REFEREE_UID),
        "volumeMounts": [*(_channel(number) for number in numbers), SCRATCH],
    }


def _referee(job: LotJob, site: Site, numbers: Sequence[int]) -> dict[str, Any]:
    return {
        "name": "referee",
        "image": site.referee_image,
        "command": ["python3", "-m", "arena_kit.referee.lot"],
        "env": [{"name": "LOT", "value": job.lot}, {"name": "SEAL", "value": SEAL}],
        "terminationMessagePath": SEAL,
        "terminationMessagePolicy": "File",
        "resources": {
            "requests": {"cpu": "300m", "memory": "256Mi"},
            "limits": {"cpu": "1", "memory": "512Mi", "ephemeral-storage": "256Mi"},
        },
        "securityContext": walls(REFEREE_UID),
        "volumeMounts": [*(_channel(number) for number in numbers), SCRATCH, {"name": "out", "mountPath": "/out"}],
    }


def _player(job: LotJob, site: Site, number: int) -> dict[str, Any]:
    return player_container(
        job.players[number],
        name=f"player-{number + 1}",
        uid=_player_uid(job, number) if site.host_users else FIRST_OWN_UID + number,
        cpu=min(PLAYER_CPU, PLAYING_CPU // len(job.players)),
        channel=f"channel-{number + 1}",
        tmp=f"tmp-{number + 1}",
    )


def player_container(player: PodPlayerSpec, *, name: str, uid: int, cpu: int, channel: str, tmp: str) -> dict[str, Any]:
    """Return a player's container. cpu: thousandths of a processor that it requests. channel, tmp: its volumes."""
    limits = player.limits
    memory = f"{player_mebibytes(limits)}Mi"
    # A device belongs to one container; the names of other makers' devices are for a cluster's own rules.
    gpus = {GPU: str(limits.gpu_count)} if limits.gpu_count else {}
    return {
        "name": name,
        "image": player.image,
        "command": ["/bin/sh", "-c", COMMAND, "sh"],
        "args": [
            "--channel", CHANNEL, "--player", player.folder, "--packages", PACKAGES, "--wipe", TMP, "--pod",
            "--pids", str(PIDS_LIMIT), "--log-limit", str(limits.log_limit_bytes),
            "--memory-limit", str(limits.memory_limit_bytes), *(["--fresh"] if player.fresh else []),
            *(["--model"] if player.has_model else []),
        ],
        "workingDir": TMP,
        "env": [{"name": name, "value": value} for name, value in {**PLAYER_ENVIRONMENT, "HOME": TMP}.items()],
        "resources": {
            "requests": {"cpu": f"{cpu}m", "memory": memory, **gpus},
            "limits": {"cpu": f"{round(limits.cpu_count * 1000)}m", "memory": memory, "ephemeral-storage": "64Mi",
                       **gpus},
        },
        "securityContext": walls(uid),
        "volumeMounts": [
            {"name": channel, "mountPath": CHANNEL, "readOnly": True},
            {"name": tmp, "mountPath": TMP},
            # The containers of a pod share an IPC namespace, and with it what lies in these two folders.
            {"name": "nothing", "mountPath": NO_SHARED_MEMORY, "readOnly": True},
            {"name": "nothing", "mountPath": NO_QUEUES, "readOnly": True},
        ],
    }  # fmt: skip


def player_mebibytes(limits: Limits) -> int:
    """Return the memory of a player's container."""
    return -(-(limits.memory_limit_bytes + MEMORY_HEADROOM_BYTES) // MIB)


def _channel(number: int) -> dict[str, Any]:
    return {"name": f"channel-{number + 1}", "mountPath": channel_of(number)}


def walls(uid: int) -> dict[str, Any]:
    """Return what no container of the arena may do."""
    return {
        "runAsUser": uid,
        "runAsGroup": uid,
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def _player_uid(job: LotJob, number: int) -> int:
    return pod_player_uid(f"{job.name}/{number}")


def pod_player_uid(name: str) -> int:
    """Return the user of a player by a name that no other one has."""
    digest = hashlib.sha256(name.encode()).digest()
    return FIRST_PLAYER_UID + int.from_bytes(digest[:8], "big") % PLAYER_UIDS
