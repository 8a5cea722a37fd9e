"""The Job of a world, as plain data: one pod, whose containers share a network that reaches nothing. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arena_kit.cluster import manifest as pods
from arena_kit.cluster.manifest import MIB, Tenant
from arena_kit.errors import PlatformFault
from arena_kit.rollout.browser import container as browser
from arena_kit.rollout.browser.folder import CHANNEL, ENVIRONMENT, SOCKET, START
from arena_kit.rollout.worlds import front
from arena_kit.rollout.worlds.built import BuiltPackage, BuiltService
from arena_kit.rollout.worlds.walls import LOOPBACK, SHARED_BYTES
from arena_kit.rollout.worlds.world import PAUSE, Extras
from arena_kit.sandbox.docker import TMP, TMP_BYTES

WORLD = "arena/world"
"""The label with the token of a world."""
FORGOTTEN_SECONDS = 60
"""After which the cluster removes a Job that is over, if no worker does."""
WRITTEN_BYTES = 4 << 30
"""The disk space of a service outside its tmpfs; the node evicts a pod that writes more."""
GRACE_SECONDS = 1
WATCHER, PLAYER, PLAYER_FOLDER, BROWSER_FOLDER = "watcher", "player", "/channel-player", "/channel-browser"
"""Names of containers, and the folders of their sockets in the watcher's container."""
OWN = {PAUSE: WATCHER, front.NAME: "front", browser.NAME: "browser"}
"""Names in the pod of the containers that a world has under names that no service can have."""
SERVICE = "service-"
"""Begins the names of the services' containers."""
GO = "/arena/go"
"""The folder with a file for each container that may begin. Only the watcher can write to it."""
WAIT = 'until [ -e "$0" ]; do sleep 0.05; done; exec "$@"'
"""Runs a command once its file is there: a cluster starts all containers of a pod at once."""
WATCH_PROGRAM = "import signal; signal.signal(signal.SIGTERM, lambda *_: exit()); signal.pause()"
_LOGS = "/var/tmp"  # noqa: S108  # inside the container


@dataclass(frozen=True, slots=True)
class WorldPod:
    """A world to be started.

    token: its name. claim: of the job that it is for. seconds: after which it may be removed. browser_image: by digest.
    """

    package: BuiltPackage
    token: str
    claim: str
    seconds: float
    extras: Extras
    browser_image: str = ""

    @property
    def name(self) -> str:
        """The Job's name."""
        return f"arena-world-{self.token[:16]}"


def container_of(name: str) -> str:
    """Return the name in the pod of a container that the world has under this name."""
    return OWN.get(name) or f"{SERVICE}{name}"


def world_manifest(world: WorldPod, tenant: Tenant) -> dict[str, Any]:
    """Return the Job of a world. Raises PlatformFault for a package that no cluster can start."""
    labels = {pods.COMPONENT: "world", pods.CLAIM: world.claim, pods.TENANT: tenant.id, WORLD: world.token}
    pod = _pod(world, tenant)
    return pods.job_manifest(world.name, labels, pod, tenant, seconds=world.seconds, ttl_seconds=FORGOTTEN_SECONDS)


def _pod(world: WorldPod, tenant: Tenant) -> dict[str, Any]:
    package, extras = world.package, world.extras
    names = [built.service.name for built in package.services]
    return {
        **pods.pod_settings(tenant, has_gpus=extras.player is not None and extras.player.limits.gpu_count > 0),
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "hostAliases": [{"ip": LOOPBACK, "hostnames": names}],
        "initContainers": [_prepare(world, tenant)],
        "containers": [
            _watcher(tenant, extras),
            *(_service(built) for built in package.services),
            *([_front(package, tenant)] if package.front else []),
            *([_browser(world.browser_image)] if extras.has_browser else []),
            *([] if extras.player is None else [_player(world, tenant)]),
        ],
        "volumes": [
            pods.folder_volume("go", 1 * MIB),
            pods.folder_volume(pods.NOTHING, 1 * MIB),
            *(pods.memory_volume(name, size) for built in package.services for name, size in _tmpfs(built).values()),
            *([pods.folder_volume("front", 1024 * MIB)] if package.front else []),
            *(_volumes("browser", browser.TMP_BYTES) if extras.has_browser else []),
            *([] if extras.player is None else _volumes("player", TMP_BYTES)),
        ],
    }


def _prepare(world: WorldPod, tenant: Tenant) -> dict[str, Any]:
    """Return the container that fills the folders of browser and player before they start."""
    browsers = ["--browser", BROWSER_FOLDER] if world.extras.has_browser else []
    players = ["--player", PLAYER_FOLDER] if world.extras.player is not None else []
    return pods.container(
        "prepare",
        tenant.referee_image,
        # What Python compiles the servers in; nothing else uses it yet.
        [*_channels(world.extras), pods.mount("go", TMP)],
        command=["python3", "-m", "arena_kit.rollout.pods.prepare"],
        args=[*browsers, *players, *map(_plain, world.package.origins)],
        resources=_takes(128 * MIB, cpu=1.0),
    )


def _watcher(tenant: Tenant, extras: Extras) -> dict[str, Any]:
    """Return the container in which the arena lets services go, looks at ports and relays sockets."""
    return pods.container(
        WATCHER,
        tenant.referee_image,
        [pods.mount("go", GO), *_channels(extras)],
        command=["python3", "-I", "-S", "-c", WATCH_PROGRAM],
        workingDir="/",
        resources=_takes(192 * MIB, cpu=1.0),
    )


def _service(built: BuiltService) -> dict[str, Any]:
    service = built.service
    if not built.reference:
        sentence = f"The image of the service {service.name} is in no registry, so no cluster can start it."
        raise PlatformFault(f"{sentence} Set PLAYER_REGISTRY, and build the package again.", code="image_missing")
    uid, gid = _user(built)
    return pods.container(
        container_of(service.name),
        built.reference,
        [
            pods.mount("go", GO, read_only=True),
            *(pods.mount(volume, path) for path, (volume, _) in _tmpfs(built).items()),
            pods.mount(pods.NOTHING, pods.NO_QUEUES, read_only=True),
        ],
        uid=uid,
        gid=gid,
        read_only=service.read_only,
        command=["/bin/sh", "-c", WAIT, f"{GO}/{service.name}"],
        args=[_plain(word) for word in (*(service.entrypoint or ()), *(service.command or ()))],
        **({"workingDir": service.working_dir} if service.working_dir else {}),
        env=pods.env_of({key: _plain(value) for key, value in {**built.environment, **service.environment}.items()}),
        resources=_takes(service.memory_bytes, cpu=service.cpu_count, written=WRITTEN_BYTES),
    )


def _front(package: BuiltPackage, tenant: Tenant) -> dict[str, Any]:
    return pods.container(
        OWN[front.NAME],
        tenant.referee_image,
        [pods.mount("front", _LOGS)],
        command=["python3", "-I", "-S", "-c", front.PROGRAM.read_text(encoding="utf-8")],
        args=[str(front.PORT), front.LOG, *map(_plain, package.origins)],
        workingDir="/",
        resources=_takes(front.MEMORY_BYTES, cpu=1.0),
    )


def _browser(image: str) -> dict[str, Any]:
    return pods.container(
        OWN[browser.NAME],
        image,
        [
            pods.mount("go", GO, read_only=True),
            pods.mount("channel-browser", CHANNEL, read_only=True),
            {**pods.mount("channel-browser", browser.POLICIES, read_only=True), "subPath": "policies"},
            pods.mount("tmp-browser", TMP),
            pods.mount(pods.NOTHING, pods.NO_SHARED_MEMORY, read_only=True),
            pods.mount(pods.NOTHING, pods.NO_QUEUES, read_only=True),
        ],
        uid=browser.UID,
        command=["/bin/sh", "-c", WAIT, f"{GO}/{browser.NAME}"],
        args=[*START, f"{CHANNEL}/{SOCKET}"],
        workingDir=TMP,
        env=pods.env_of(ENVIRONMENT),
        resources=_takes(browser.MEMORY_BYTES, cpu=browser.CPU_COUNT),
    )


def _player(world: WorldPod, tenant: Tenant) -> dict[str, Any]:
    assert world.extras.player is not None
    uid = pods.pod_player_uid(world.token) if tenant.host_users else pods.FIRST_OWN_UID
    return pods.player_container(
        world.extras.player, name=PLAYER, uid=uid, cpu=100, channel="channel-player", tmp="tmp-player"
    )


def _takes(memory: int, *, cpu: float, written: int = 64 * MIB) -> dict[str, Any]:
    """Return what a container may use. Its memory is reserved; of processors it is given what is free."""
    held = f"{-(-memory // MIB)}Mi"
    return {
        "requests": {"cpu": "50m", "memory": held, "ephemeral-storage": "16Mi"},
        "limits": {"cpu": f"{round(cpu * 1000)}m", "memory": held, "ephemeral-storage": f"{written // MIB}Mi"},
    }


def _user(built: BuiltService) -> tuple[int, int]:
    """Return the user and the group of a service. Raises PlatformFault for root, which a cluster does not let in."""
    uid, _, gid = built.user.partition(":")
    if not (uid.isdecimal() and gid.isdecimal()) or uid == "0":
        sentence = f"The service {built.service.name} runs as root, or its user is not known; no pod of worlds may."
        raise PlatformFault(f"{sentence} Give it a user in compose.yml.", code="package_refused")
    return int(uid), int(gid)


def _tmpfs(built: BuiltService) -> dict[str, tuple[str, int]]:
    """Return the volumes of a service's folders in memory: name and size by path."""
    paths = {pods.NO_SHARED_MEMORY: SHARED_BYTES, **built.service.tmpfs}
    name = container_of(built.service.name)
    return {path: (f"{name}-{number}", size) for number, (path, size) in enumerate(paths.items())}


def _volumes(name: str, tmp_bytes: int) -> list[dict[str, Any]]:
    return [pods.folder_volume(f"channel-{name}", 16 * MIB), pods.memory_volume(f"tmp-{name}", tmp_bytes)]


def _channels(extras: Extras) -> list[dict[str, Any]]:
    """Return the folders of sockets, as the arena's own containers have them."""
    browsers = [pods.mount("channel-browser", BROWSER_FOLDER)] if extras.has_browser else []
    return [*browsers, *([] if extras.player is None else [pods.mount("channel-player", PLAYER_FOLDER)])]


def _plain(value: str) -> str:
    """Return a value in which Kubernetes replaces no names of variables."""
    return value.replace("$", "$$")
