"""The worlds of this host: opened one by one within the memory there is, and removed when their workers are gone."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from arena_kit.errors import PlatformFault
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.docker_world import DockerWorld
from arena_kit.rollout.worlds.engine import Engine, errors, remove
from arena_kit.rollout.worlds.front import MEMORY_BYTES as FRONT_BYTES
from arena_kit.rollout.worlds.leases import Leases
from arena_kit.rollout.worlds.walls import PAUSE_BYTES
from arena_kit.rollout.worlds.world import (
    ARENA_LABEL,
    DEADLINE_LABEL,
    NOTHING,
    PAUSE,
    PROVISION_SECONDS,
    WORLD_LABEL,
    Extras,
)

MOST_WRITTEN_BYTES = 4 << 30
"""The disk space of a world outside tmpfs. Engines on overlay2 can limit a container's layer on few file systems, so
worlds that write more are removed by the next reaping."""


class DockerWorlds:
    """Makes worlds on this host's Docker engine."""

    def __init__(self, folder: Path, *, memory_bytes: int, pause_image: str) -> None:
        """folder: of the leases, shared by all workers of an arena on this host. memory_bytes: of all worlds together.

        pause_image: the image of base:python. Its `builds` is the folder of what is being built.
        """
        self._leases, self._pause_image = Leases(folder, memory_bytes), pause_image
        self.builds = folder / "builds"

    def open(
        self,
        package: BuiltPackage,
        *,
        seconds: float,
        labels: Mapping[str, str] | None = None,
        extras: Extras = NOTHING,
    ) -> DockerWorld:
        """Return a world whose services are healthy. Raises NoRoom if it has to wait, and PlatformFault.

        seconds: after this time the world may be removed by any reaper. labels: further ones of its containers.
        extras: what joins the world later, such as a browser.
        """
        deadline = time.monotonic() + PROVISION_SECONDS
        own = {ARENA_LABEL: self._leases.name, DEADLINE_LABEL: f"{time.time() + seconds:.0f}"}
        own_bytes = PAUSE_BYTES + (FRONT_BYTES if package.front else 0)
        lease = self._leases.take(package.memory_bytes + own_bytes + extras.memory_bytes)
        try:
            world = DockerWorld(package, lease, {**(labels or {}), **own}, self._pause_image)
        except BaseException:
            lease.end()
            raise
        try:
            with self._leases.start(deadline):
                world.provision(deadline)
        except BaseException:
            world.remove()
            raise
        return world

    def alive(self) -> frozenset[str]:
        """Return the tokens of the worlds whose workers live."""
        return self._leases.alive()

    def reserved_bytes(self) -> int:
        """Return the memory that worlds have reserved."""
        return self._leases.reserved_bytes()

    def reap(self) -> int:
        """Remove the worlds whose workers are dead, whose time is over, or that fill the disk; return the number of
        containers that were removed.

        Worlds of other arenas on this engine are removed only when their time is over. Raises PlatformFault.
        """
        engine = Engine()
        try:
            with errors():
                ours = self._leases.name
                found = engine.client.api.containers(all=True, filters={"label": WORLD_LABEL})
                full = _too_full(engine.client.api.containers(size=True, filters={"label": f"{ARENA_LABEL}={ours}"}))
                # After the containers, each of which has a lease before it is made.
                alive = self._leases.alive() - full
                dead = [each for each in found if _is_dead(each["Labels"], alive, ours)]
                dead.sort(key=lambda each: any(name.endswith(PAUSE) for name in each["Names"]))
                for each in dead:
                    remove(engine.client, each["Id"])
                return len(dead)
        finally:
            engine.close()


def _too_full(found: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the tokens of worlds whose services have written more than they may."""
    written: Counter[str] = Counter()
    for each in found:
        written[each["Labels"].get(WORLD_LABEL, "")] += each.get("SizeRw") or 0
    return frozenset(token for token, size in written.items() if size > MOST_WRITTEN_BYTES)


def _is_dead(labels: Mapping[str, str], alive: frozenset[str], ours: str) -> bool:
    """Return whether a container's world is over. An image's emptied label is not that of a world."""
    token, deadline = labels.get(WORLD_LABEL, ""), labels.get(DEADLINE_LABEL, "")
    if not token:
        return False
    is_lost = labels.get(ARENA_LABEL) == ours and token not in alive
    return is_lost or (deadline.isdecimal() and int(deadline) < time.time())


def base_images(bases: Mapping[str, str]) -> dict[str, str]:
    """Return the content ids of base images, by their names in compose.yml. Raises PlatformFault for a missing one."""
    engine = Engine()
    try:
        with errors():
            tags = {tag: each["Id"] for each in engine.client.api.images() for tag in each.get("RepoTags") or ()}
    finally:
        engine.close()
    lost = [name for name in bases.values() if name not in tags and f"{name}:latest" not in tags]
    if lost:
        raise PlatformFault(
            f"The image {lost[0]} is not on this engine; arena_kit/image/base/make-app-images.sh makes it.",
            code="image_missing",
        )
    return {base: str(tags.get(name) or tags[f"{name}:latest"]) for base, name in bases.items()}
