"""The worlds of a cluster: opened one by one as long as it has room, and removed when their claims are gone."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping

from arena_kit.cluster.client import ApiCluster
from arena_kit.cluster.manifest import CLAIM, Tenant
from arena_kit.rollout.pods.manifest import WORLD, WorldPod
from arena_kit.rollout.pods.world import PodWorld
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.world import DEADLINE_LABEL, NOTHING, PROVISION_SECONDS, Extras

CLAIM_LABEL = "arena.claim"
"""Names the claim that a world is for, among the labels of `PodWorlds.open`."""


class PodWorlds:
    """Makes worlds in pods. The cluster's scheduler reserves what they need."""

    def __init__(self, tenant: Tenant, *, browser_image: str, kubeconfig: str = "") -> None:
        """browser_image: by digest. Raises PlatformFault if there is no cluster."""
        self._tenant, self._browser_image = tenant, browser_image
        self.cluster = ApiCluster(tenant, kubeconfig=kubeconfig)

    def open(
        self,
        package: BuiltPackage,
        *,
        seconds: float,
        labels: Mapping[str, str] | None = None,
        extras: Extras = NOTHING,
    ) -> PodWorld:
        """Return a world whose services are healthy. Raises NoRoom if it has to wait, and PlatformFault.

        seconds: after this time the cluster may remove the world. labels: with the claim that it is for; a world
        without one, as of a command, is left alone by reapers. extras: what is in the pod besides the services.
        """
        token, given = uuid.uuid4().hex, labels or {}
        pod = WorldPod(package, token, given.get(CLAIM_LABEL, token), seconds, extras, self._browser_image)
        over_at = f"{time.time() + seconds:.0f}"
        world = PodWorld(self.cluster, self._tenant, pod, {**given, DEADLINE_LABEL: over_at})
        try:
            world.come_up()
            world.provision(time.monotonic() + PROVISION_SECONDS)
        except BaseException:
            world.remove()
            raise
        return world

    def alive(self) -> frozenset[str]:
        """Return the tokens of the worlds that the cluster holds."""
        return frozenset(job["metadata"]["labels"].get(WORLD, "") for job in self.cluster.jobs())

    def reap(self, live: Callable[[], frozenset[str]]) -> int:
        """Remove the worlds whose claims are not alive; return how many. The cluster itself removes late ones.

        live: called after the worlds are listed, so that one made meanwhile is not taken for a leftover.
        """
        found = self.cluster.jobs()
        keep = live()
        dead = [job["metadata"] for job in found if _is_dead(job["metadata"]["labels"], keep)]
        for metadata in dead:
            self.cluster.delete(metadata["name"], metadata["uid"])
        return len(dead)


def _is_dead(labels: Mapping[str, str], live: frozenset[str]) -> bool:
    """Return whether a world's claim is not alive. A world without a claim has its own token in its place."""
    claim = labels.get(CLAIM)
    return claim not in live and claim != labels.get(WORLD)
