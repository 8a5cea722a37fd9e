"""The Job of a lot: the referee, and a container for each submission. Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from arena_kit.cluster import manifest as pods
from arena_kit.cluster.manifest import MIB, PodPlayerSpec, Tenant
from arena_kit.sandbox.docker import TMP, TMP_BYTES

KIND, SPEC_HASH, OTHERS = "arena/kind", "arena/spec-sha256", "arena/other-claims"
FINISHED_SECONDS = 600
PLAYER_CPU, PLAYING_CPU = 300, 600
"""Thousandths of a processor that a player's container requests, and all of a pod at most: two play at a time."""
SEAL = "/out/seal"
SCRATCH = pods.mount("scratch", TMP)
"""The referee's own folder for temporary files, which no player has."""


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


def lot_manifest(job: LotJob, tenant: Tenant) -> dict[str, Any]:
    """Return the Job of a lot."""
    labels = {pods.COMPONENT: "lot", pods.CLAIM: job.claim, pods.TENANT: tenant.id, KIND: job.kind}
    found = pods.job_manifest(
        job.name, labels, _pod(job, tenant), tenant, seconds=job.play_seconds, ttl_seconds=FINISHED_SECONDS
    )
    found["metadata"]["annotations"] = {
        **({OTHERS: ",".join(job.others)} if job.others else {}),
        SPEC_HASH: hashlib.sha256(json.dumps(found["spec"], sort_keys=True).encode()).hexdigest(),
    }
    return found


def _pod(job: LotJob, tenant: Tenant) -> dict[str, Any]:
    numbers = range(len(job.players))
    channels = [pods.mount(f"channel-{number + 1}", channel_of(number)) for number in numbers]
    return {
        **pods.pod_settings(tenant, has_gpus=any(player.limits.gpu_count for player in job.players)),
        "initContainers": [_prepare(tenant, channels)],
        "containers": [_referee(job, tenant, channels), *(_player(job, tenant, number) for number in numbers)],
        "volumes": [
            pods.folder_volume("out", 16 * MIB),
            pods.folder_volume("scratch", 128 * MIB),
            pods.folder_volume(pods.NOTHING, 1 * MIB),
            *(pods.folder_volume(f"channel-{number + 1}", 16 * MIB) for number in numbers),
            *(pods.memory_volume(f"tmp-{number + 1}", TMP_BYTES) for number in numbers),
        ],
    }


def _prepare(tenant: Tenant, channels: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the container that copies the player server into every channel before any player starts."""
    return pods.container(
        "prepare",
        tenant.referee_image,
        [*channels, SCRATCH],
        command=["python3", "-m", "arena_kit.cluster.lots.prepare"],
        args=[channel["mountPath"] for channel in channels],
        resources={"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}},
    )


def _referee(job: LotJob, tenant: Tenant, channels: list[dict[str, Any]]) -> dict[str, Any]:
    return pods.container(
        "referee",
        tenant.referee_image,
        [*channels, SCRATCH, pods.mount("out", "/out")],
        command=["python3", "-m", "arena_kit.referee.lot"],
        env=pods.env_of({"LOT": job.lot, "SEAL": SEAL}),
        terminationMessagePath=SEAL,
        terminationMessagePolicy="File",
        resources={
            "requests": {"cpu": "300m", "memory": "256Mi"},
            "limits": {"cpu": "1", "memory": "512Mi", "ephemeral-storage": "256Mi"},
        },
    )


def _player(job: LotJob, tenant: Tenant, number: int) -> dict[str, Any]:
    return pods.player_container(
        job.players[number],
        name=f"player-{number + 1}",
        uid=pods.pod_player_uid(f"{job.name}/{number}") if tenant.host_users else pods.FIRST_OWN_UID + number,
        cpu=min(PLAYER_CPU, PLAYING_CPU // len(job.players)),
        channel=f"channel-{number + 1}",
        tmp=f"tmp-{number + 1}",
    )
