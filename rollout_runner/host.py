"""The resources that workers of one host share: worlds, images, sockets, and the removal of what dead ones have
left."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from arena_kit.errors import PlatformFault
from arena_kit.image.errors import BuilderUnavailable
from arena_kit.image.packages import Network
from arena_kit.image.registry import Registry
from arena_kit.rollout.attempt import Worlds
from arena_kit.rollout.browser.container import BrowserHost
from arena_kit.rollout.building.build import package_tag
from arena_kit.rollout.building.images import Bases
from arena_kit.rollout.building.leftovers import leftovers_remove
from arena_kit.rollout.packages.compose import BASES
from arena_kit.rollout.pods.host import PodWorlds
from arena_kit.rollout.worlds.host import DockerWorlds, base_images
from arena_kit.sandbox.channel import remove_abandoned_channels
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.sandbox.lock_file import LockFile, tokens_alive
from core.jobs.apart import apart
from core.jobs.images import player_registry
from core.jobs.tenants import worlds_tenant
from core.models import JobState, PackageBuild, Rollout
from core.rollouts.leases import worlds_settle

_PYTHON = "base:python"
CLUSTER = "kubernetes"
"""The host of worlds in pods, as rows have it."""


def host_name() -> str:
    """Return the name of the host that worlds are on, as rows have it: all of a cluster's are on one."""
    return CLUSTER if is_on_cluster() else socket.gethostname()[:80]


def prefix() -> str:
    """Return the beginning of the names of packages' images; arenas that share an engine have different ones."""
    return f"app-{settings.PLAYER_IMAGE_PREFIX}"


def bases() -> Bases:
    """Return what images of packages are made from."""
    names = {name: f"{settings.APP_BASE_IMAGES}-{name.removeprefix('base:')}" for name in BASES}
    network = Network(settings.PIP_ENVIRONMENT, settings.PIP_CERTIFICATES, settings.BUILD_NETWORK)
    return Bases(names, prefix(), network)


def is_on_cluster() -> bool:
    """Return whether rollouts have their worlds in pods of a cluster."""
    return bool(settings.SANDBOX == "kubernetes")


def worlds() -> Worlds:
    """Return where rollouts have their worlds. Raises PlatformFault without an engine or a cluster."""
    return pod_worlds() if is_on_cluster() else engine_worlds()


def pod_worlds() -> PodWorlds:
    """Return the worlds of the cluster. Raises PlatformFault without one."""
    return PodWorlds(worlds_tenant(), browser_image=settings.BROWSER_IMAGE)


def engine_worlds(*, pause_image: str = "") -> DockerWorlds:
    """Return the worlds of this host. pause_image: by default looked up. Raises PlatformFault without an engine."""
    image = pause_image or base_images({_PYTHON: bases().names[_PYTHON]})[_PYTHON]
    return DockerWorlds(folder("worlds"), memory_bytes=settings.ROLLOUT_MEMORY_BYTES, pause_image=image)


def registry() -> Registry:
    """Return where the images of packages go for a cluster: beside those of players, which are swept by other rules.

    Raises PlatformFault without a registry.
    """
    players = player_registry()
    if players is None:
        raise PlatformFault("Set PLAYER_REGISTRY: the nodes pull images from it.", code="registry_missing")
    return Registry(f"{players.repository}-apps", players.user, players.password)


def folder(name: str) -> Path:
    """Return a folder of this host's workers; containers are given parts of it under the same path."""
    return Path(settings.CHANNEL_DIR) / name


def browser_host() -> BrowserHost:
    """Return where browsers run."""
    return BrowserHost(settings.BROWSER_IMAGE, folder("browsers"))


def players() -> DockerSandbox:
    """Return the sandbox of players at work in applications: Docker, whatever plays games."""
    return DockerSandbox(
        base_image=settings.PLAYER_BASE_IMAGE,
        runtime=settings.PLAYER_CONTAINERS["runtime"],
        channel_dir=settings.CHANNEL_DIR,
        cgroup_parent=settings.PLAYER_CONTAINERS["cgroup_parent"],
    )


def player_label() -> str:
    """Return the name of the label with the worker of a player's container."""
    return f"arena.rollout-worker.{settings.PLAYER_IMAGE_PREFIX}"


_lock: tuple[int, LockFile] | None = None


def worker_token() -> str:
    """Return the token of this process, whose lock file the kernel opens when the process dies."""
    global _lock  # noqa: PLW0603  # one per process
    if _lock is None or _lock[0] != os.getpid():
        _lock = (os.getpid(), LockFile(folder("rollout-workers")))
    return _lock[1].token


def worlds_reap() -> None:
    """Remove what dead workers have left: worlds, players, sockets, images of builds. Once a minute."""
    if is_on_cluster():
        cluster_reap()
    else:
        engine_reap()


def cluster_reap() -> None:
    """Remove the worlds of the cluster whose rollouts no worker holds any more."""
    with apart("The worlds of dead workers"):
        there, listed_at = pod_worlds(), timezone.now()
        there.reap(claims_alive)
        worlds_settle(host=host_name(), alive=there.alive(), before=listed_at)


def claims_alive() -> frozenset[str]:
    """Return the claims of the rollouts that are being played, as their worlds have them."""
    rows = Rollout.objects.filter(state=JobState.RUNNING).values_list("claim_token", flat=True)
    return frozenset(token.hex for token in rows if token is not None)


def engine_reap() -> None:
    """Remove what dead workers of this host have left on its engine."""
    here = engine_worlds(pause_image="unused")
    with apart("The worlds of dead workers"):
        here.reap()
        if not is_on_cluster():
            worlds_settle(host=host_name(), alive=here.alive())
    with apart("The players of dead workers"):
        players().reap(player_label(), lambda: tokens_alive(folder("rollout-workers")))
        for name in ("browsers", "models"):
            remove_abandoned_channels(folder(name))
    with apart("The images of killed builds"):
        try:
            leftovers_remove(here.builds, prefix(), kept_tags())
        except BuilderUnavailable:
            # The heartbeat tells that no engine answers.
            return


def kept_tags() -> set[str]:
    """Return the tags of the packages whose images stay: those that were built."""
    built = PackageBuild.objects.filter(state=JobState.SUCCEEDED)
    return {
        package_tag(sha256, seed) for sha256, seed in built.values_list("package__archive_sha256", "seed").distinct()
    }
