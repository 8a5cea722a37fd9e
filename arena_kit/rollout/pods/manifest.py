"""The Job of a world, as plain data: one pod, whose containers share a network that reaches nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena_kit.cluster.manifest import (
    CLAIM,
    COMPONENT,
    FIRST_OWN_UID,
    MIB,
    NO_QUEUES,
    NO_SHARED_MEMORY,
    REFEREE_UID,
    SITE,
    Site,
    player_container,
    pod_player_uid,
    pod_settings,
    walls,
)
from arena_kit.errors import PlatformFault
from arena_kit.rollout.browser import container as browser
from arena_kit.rollout.browser.folder import CHANNEL, ENVIRONMENT, SOCKET, START
from arena_kit.rollout.pods.cluster import WORLD
from arena_kit.rollout.worlds import front
from arena_kit.rollout.worlds.built import BuiltPackage, BuiltService
from arena_kit.rollout.worlds.walls import LOOPBACK, SHARED_BYTES
from arena_kit.rollout.worlds.world import PAUSE, Beside
from arena_kit.sandbox.docker import TMP, TMP_BYTES

START_SECONDS = 900
"""Of a Job beyond the time of its world: it waits for room, images are fetched, services start."""
FORGOTTEN_SECONDS = 60
"""After which the cluster removes a Job that is over, if no worker does."""
WRITTEN_BYTES = 4 << 30
"""Of a service outside of its tmpfs; the node takes a pod away that writes more."""
GRACE_SECONDS = 1
WATCHER, PLAYER, PLAYER_FOLDER, BROWSER_FOLDER = "watcher", "player", "/channel-player", "/channel-browser"
"""Names of containers, and the folders of their sockets in the watcher's container."""
OWN = {PAUSE: WATCHER, front.NAME: "front", browser.NAME: "browser"}
"""Names in the pod of the containers that a world knows by names that no service can have."""
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
    beside: Beside
    browser_image: str = ""

    @property
    def name(self) -> str:
        """The Job's name."""
        return f"arena-world-{self.token[:16]}"


def container_of(name: str) -> str:
    """Return the name in the pod of a container that the world knows by this name."""
    return OWN.get(name) or f"{SERVICE}{name}"


def world_manifest(world: WorldPod, site: Site) -> dict[str, Any]:
    """Return the Job of a world. Raises PlatformFault for a package that no cluster can start."""
    labels = {COMPONENT: "world", CLAIM: world.claim, SITE: site.id, WORLD: world.token}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": world.name,
            "namespace": site.namespace,
            "labels": {
                "app.kubernetes.io/name": "rl-arena",
                **labels,
                **({"kueue.x-k8s.io/queue-name": site.queue} if site.queue else {}),
            },
        },
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": round(world.seconds) + START_SECONDS,
            "ttlSecondsAfterFinished": FORGOTTEN_SECONDS,
            **({"suspend": True} if site.queue else {}),
            "template": {"metadata": {"labels": labels}, "spec": _pod(world, site)},
        },
    }


def _pod(world: WorldPod, site: Site) -> dict[str, Any]:
    package, beside = world.package, world.beside
    has_player = beside.player is not None
    names = [built.service.name for built in package.services]
    return {
        **pod_settings(site, has_gpus=beside.player is not None and beside.player.limits.gpu_count > 0),
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "hostAliases": [{"ip": LOOPBACK, "hostnames": names}],
        "initContainers": [_prepare(world, site)],
        "containers": [
            _watcher(site, has_browser=beside.has_browser, has_player=has_player),
            *(_service(built) for built in package.services),
            *([_front(package, site)] if package.front else []),
            *([_browser(world.browser_image)] if beside.has_browser else []),
            *([_player(world, site)] if has_player else []),
        ],
        "volumes": [
            _folder("go", 1 * MIB),
            _folder("nothing", 1 * MIB),
            *(_memory(name, size) for built in package.services for name, size in _tmpfs(built).values()),
            *([_folder("front", 1024 * MIB)] if package.front else []),
            *([_folder("channel-browser", 16 * MIB), _memory("tmp-browser", browser.TMP_BYTES)]
              if beside.has_browser else []),
            *([_folder("channel-player", 16 * MIB), _memory("tmp-player", TMP_BYTES)] if has_player else []),
        ],
    }  # fmt: skip


def _prepare(world: WorldPod, site: Site) -> dict[str, Any]:
    """Return the container that fills the folders of browser and player before they start."""
    browsers = ["--browser", BROWSER_FOLDER] if world.beside.has_browser else []
    players = ["--player", PLAYER_FOLDER] if world.beside.player is not None else []
    return {
        "name": "prepare",
        "image": site.referee_image,
        "command": ["python3", "-m", "arena_kit.rollout.pods.prepare"],
        "args": [*browsers, *players, *map(_plain, world.package.origins)],
        **_takes(128 * MIB, cpu=1.0),
        "securityContext": walls(REFEREE_UID),
        "volumeMounts": [
            *_channels(has_browser=bool(browsers), has_player=bool(players)),
            # What Python compiles the servers in; nothing else uses it yet.
            {"name": "go", "mountPath": TMP},
        ],
    }


def _watcher(site: Site, *, has_browser: bool, has_player: bool) -> dict[str, Any]:
    """Return the container in which the arena lets services go, looks at ports and relays sockets."""
    return {
        "name": WATCHER,
        "image": site.referee_image,
        "command": ["python3", "-I", "-S", "-c", WATCH_PROGRAM],
        "workingDir": "/",
        **_takes(192 * MIB, cpu=1.0),
        "securityContext": walls(REFEREE_UID),
        "volumeMounts": [
            {"name": "go", "mountPath": GO},
            *_channels(has_browser=has_browser, has_player=has_player),
        ],
    }


def _service(built: BuiltService) -> dict[str, Any]:
    service = built.service
    if not built.reference:
        sentence = f"The image of the service {service.name} is in no registry, so no cluster can start it."
        raise PlatformFault(f"{sentence} Set PLAYER_REGISTRY, and build the package again.", code="image_missing")
    name = container_of(service.name)
    return {
        "name": name,
        "image": built.reference,
        "command": ["/bin/sh", "-c", WAIT, f"{GO}/{service.name}"],
        "args": [_plain(word) for word in (*(service.entrypoint or ()), *(service.command or ()))],
        **({"workingDir": service.working_dir} if service.working_dir else {}),
        "env": [
            {"name": key, "value": _plain(value)} for key, value in {**built.environment, **service.environment}.items()
        ],
        **_takes(service.memory_bytes, cpu=service.cpu_count, written=WRITTEN_BYTES),
        "securityContext": {**walls(0), **_user(built), "readOnlyRootFilesystem": service.read_only},
        "volumeMounts": [
            {"name": "go", "mountPath": GO, "readOnly": True},
            *({"name": volume, "mountPath": path} for path, (volume, _) in _tmpfs(built).items()),
            {"name": "nothing", "mountPath": NO_QUEUES, "readOnly": True},
        ],
    }


def _front(package: BuiltPackage, site: Site) -> dict[str, Any]:
    return {
        "name": OWN[front.NAME],
        "image": site.referee_image,
        "command": ["python3", "-I", "-S", "-c", front.PROGRAM.read_text(encoding="utf-8")],
        "args": [str(front.PORT), front.LOG, *map(_plain, package.origins)],
        "workingDir": "/",
        **_takes(front.MEMORY_BYTES, cpu=1.0),
        "securityContext": walls(REFEREE_UID),
        "volumeMounts": [{"name": "front", "mountPath": _LOGS}],
    }


def _browser(image: str) -> dict[str, Any]:
    return {
        "name": OWN[browser.NAME],
        "image": image,
        "command": ["/bin/sh", "-c", WAIT, f"{GO}/{browser.NAME}"],
        "args": [*START, f"{CHANNEL}/{SOCKET}"],
        "workingDir": TMP,
        "env": [{"name": name, "value": value} for name, value in ENVIRONMENT.items()],
        **_takes(browser.MEMORY_BYTES, cpu=browser.CPU_COUNT),
        "securityContext": walls(browser.UID),
        "volumeMounts": [
            {"name": "go", "mountPath": GO, "readOnly": True},
            {"name": "channel-browser", "mountPath": CHANNEL, "readOnly": True},
            {"name": "channel-browser", "mountPath": browser.POLICIES, "subPath": "policies", "readOnly": True},
            {"name": "tmp-browser", "mountPath": TMP},
            {"name": "nothing", "mountPath": NO_SHARED_MEMORY, "readOnly": True},
            {"name": "nothing", "mountPath": NO_QUEUES, "readOnly": True},
        ],
    }


def _player(world: WorldPod, site: Site) -> dict[str, Any]:
    assert world.beside.player is not None
    uid = pod_player_uid(world.token) if site.host_users else FIRST_OWN_UID
    return player_container(
        world.beside.player, name=PLAYER, uid=uid, cpu=100, channel="channel-player", tmp="tmp-player"
    )


def _takes(memory: int, *, cpu: float, written: int = 64 * MIB) -> dict[str, Any]:
    """Return what a container may use. Its memory is reserved; of processors it is given what is free."""
    held = f"{-(-memory // MIB)}Mi"
    return {
        "resources": {
            "requests": {"cpu": "50m", "memory": held, "ephemeral-storage": "16Mi"},
            "limits": {"cpu": f"{round(cpu * 1000)}m", "memory": held, "ephemeral-storage": f"{written // MIB}Mi"},
        }
    }


def _user(built: BuiltService) -> Mapping[str, int]:
    """Return the user and the group of a service. Raises PlatformFault for root, which a cluster does not let in."""
    uid, _, gid = built.user.partition(":")
    if not (uid.isdecimal() and gid.isdecimal()) or uid == "0":
        sentence = f"The service {built.service.name} runs as root, or its user is not known; no pod of worlds may."
        raise PlatformFault(f"{sentence} Give it a user in compose.yml.", code="package_refused")
    return {"runAsUser": int(uid), "runAsGroup": int(gid)}


def _tmpfs(built: BuiltService) -> dict[str, tuple[str, int]]:
    """Return the volumes of a service's folders in memory: name and size by path."""
    paths = {NO_SHARED_MEMORY: SHARED_BYTES, **built.service.tmpfs}
    name = container_of(built.service.name)
    return {path: (f"{name}-{number}", size) for number, (path, size) in enumerate(paths.items())}


def _channels(*, has_browser: bool, has_player: bool) -> Sequence[Mapping[str, Any]]:
    browsers = [{"name": "channel-browser", "mountPath": BROWSER_FOLDER}] if has_browser else []
    return [*browsers, *([{"name": "channel-player", "mountPath": PLAYER_FOLDER}] if has_player else [])]


def _folder(name: str, size: int) -> dict[str, Any]:
    return {"name": name, "emptyDir": {"sizeLimit": f"{size // MIB}Mi"}}


def _memory(name: str, size: int) -> dict[str, Any]:
    return {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": f"{-(-size // MIB)}Mi"}}


def _plain(value: str) -> str:
    """Return a value in which Kubernetes replaces no names of variables."""
    return value.replace("$", "$$")
