"""A real cluster of the tests for `benchmarks.kubernetes`, and lots that are played in its pods."""

from __future__ import annotations

import contextlib
import itertools
import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena_kit.cluster.client import ApiCluster
from arena_kit.cluster.lots.driver import JOB_NAME
from arena_kit.cluster.lots.manifest import lot_manifest
from arena_kit.cluster.manifest import PodPlayerSpec, Tenant
from arena_kit.cluster.status import Ended, status_of
from arena_kit.environment.spec import Limits
from arena_kit.image.layer import commit_layer, folder_layer
from arena_kit.referee.part import read_lot
from arena_kit.referee.play import PlayedDuel
from arena_kit.sandbox.base import SandboxError
from benchmarks.ticks import duel_lot

if TYPE_CHECKING:
    import docker

    from arena_kit.image.registry import Registry
    from tests.kubernetes.cluster import RealCluster

PREFIX = f"arena-bench-{os.getpid()}"
LIMITS = Limits()
DUELS = 15
"""The limits of a lot, whatever its size: those of six players. The first is played while the node still starts the
pod."""
PATIENCE_SECONDS = 600.0
COUNTER = itertools.count(1)


def missing() -> str:
    """Return why no cluster can be started; empty when one can."""
    from tests.machine import missing_cluster

    return missing_cluster()


@dataclass(frozen=True, slots=True)
class PlayedLot:
    """The times of a lot. start_seconds: from the making of its Job to the end of its first match. rates: matches a
    second of its duels, in order."""

    start_seconds: float
    rates: tuple[float, ...]

    @property
    def rate(self) -> float:
        """Return the matches a second of all its duels, which have as many matches."""
        return statistics.harmonic_mean(self.rates)


@dataclass(frozen=True, slots=True)
class Pods:
    """A cluster, the registry from which it pulls, and the engine with which players' images are made."""

    real: RealCluster
    tenant: Tenant
    engine: docker.DockerClient
    registry: Registry
    base: str

    def push(self, player: Path) -> str:
        """Make the image of a player's folder and push it; return its name by digest."""
        name = f"{PREFIX}:player"
        base = str(self.engine.images.get(self.base).id)
        commit_layer(self.engine, base, folder_layer(player, "player"), tag=name, labels={"arena.prefix": PREFIX})
        return self.registry.reference(self.registry.push(self.engine, name))

    def play(self, size: int, image: str, matches: int) -> PlayedLot:
        """Play a lot of DUELS duels in which each of some players meets each other one. Raises SandboxError."""
        player, times = PodPlayerSpec(image, LIMITS), DUELS // (size * (size - 1) // 2)
        job = duel_lot(next(COUNTER), players=[player] * size, matches=matches, limits=LIMITS, times=times)
        api = ApiCluster(self.tenant, kubeconfig=str(self.real.kubeconfig))
        begun = time.time()
        api.create(lot_manifest(job, self.tenant))
        try:
            pod, ended = _until_ended(api, job.name)
            lines = api.log(pod)
            stamped = self.real.kubectl("-n", self.tenant.namespace, "logs", pod, "-c", "referee", "--timestamps")
        finally:
            for one in api.jobs():
                api.delete(one["metadata"]["name"], one["metadata"]["uid"])
        first = datetime.fromisoformat(stamped.split()[0])
        played = [part.result for part in read_lot(lines or [], ended.seal, job.claim, ended.killed).values()]
        duels = [one for one in played if isinstance(one, PlayedDuel) and one.record.summary.errors == (0, 0)]
        if len(duels) != DUELS:
            raise SandboxError(f"Not all duels of a lot were played well: {played}", code="benchmark_failed")
        return PlayedLot(first.timestamp() - begun, tuple(matches / one.playing_seconds for one in duels))


@contextlib.contextmanager
def cluster(base_image: str, folder: Path) -> Iterator[Pods]:
    """Start a cluster and a registry with the referee's image. It needs root, and `kube-up build` once."""
    from arena_kit.image.calls import engine as connect
    from arena_kit.image.registry import Registry
    from arena_kit.tests.image.registries import registry_server, small_base_image
    from tests.kubernetes.cluster import NAMESPACE, RealCluster
    from tests.kubernetes.images import referee_image

    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(connect())
        registry = stack.enter_context(registry_server(folder / "registry")).registry
        base, name = f"{PREFIX}:small", f"{PREFIX}:site"
        for tag in (base, name, f"{PREFIX}:player"):
            stack.callback(_remove, engine, tag)
        small_base_image(engine, base_image, base)
        own = Registry(f"{registry.host}/arena/site", registry.user, registry.password)
        referee = referee_image(engine, base_image, base, own, name)
        real = RealCluster()
        stack.callback(real.close)
        real.up()
        real.set_up(registry)
        tenant = Tenant(id="bench", namespace=NAMESPACE, referee_image=referee, pull_secret="registry")
        yield Pods(real, tenant, engine, registry, base)


def _until_ended(api: ApiCluster, name: str) -> tuple[str, Ended]:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.5)
        jobs = [one for one in api.jobs() if one["metadata"]["name"] == name]
        pods = [one for one in api.pods() if one["metadata"]["labels"].get(JOB_NAME) == name]
        if jobs and isinstance(status := status_of(jobs[0], pods), Ended):
            if status.code:
                raise SandboxError(status.sentence, code=status.code)
            return str(pods[0]["metadata"]["name"]), status
    raise SandboxError("A lot has not ended.", code="benchmark_failed")


def _remove(engine: Any, tag: str) -> None:
    from docker.errors import ImageNotFound

    with contextlib.suppress(ImageNotFound):
        engine.images.remove(tag, force=True)
