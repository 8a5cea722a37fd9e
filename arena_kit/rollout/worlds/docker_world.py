"""A world in containers of this host's Docker engine."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from arena_kit.errors import PlatformFault
from arena_kit.rollout.worlds import front
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.engine import REFUSED, Engine
from arena_kit.rollout.worlds.fetching import files_of
from arena_kit.rollout.worlds.walls import pause_options, service_options
from arena_kit.rollout.worlds.world import (
    EXPORT_SECONDS,
    PAUSE,
    ROLLOUT_LABEL,
    WORLD_LABEL,
    Options,
    World,
    WorldFault,
    seeded_tag,
)
from arena_kit.sandbox.channel import Channel
from arena_kit.sandbox.lock_file import LockFile

logger = logging.getLogger(__name__)
STOP_SECONDS = 30
FILE_BYTES = 1 << 20


class DockerWorld(World):
    """A world whose containers join the network of a pause container.

    Clean-up needs no `finally`: when this process dies, the kernel opens the lease, and the next `DockerWorlds.reap` of
    any process with the same folder removes the containers.
    """

    def __init__(self, package: BuiltPackage, lease: LockFile, labels: Mapping[str, str], pause_image: str) -> None:
        """Raises PlatformFault if no engine answers."""
        self._engine = Engine()
        super().__init__(package, lease.token, labels, self._engine)
        self._lease, self._pause_image = lease, pause_image
        self._is_removed = False

    def provision(self, deadline: float) -> None:
        names = tuple(built.service.name for built in self.package.services)
        pause = self._engine.start(pause_options(self._pause_image, names, self.labels, self._name(PAUSE)))
        self._containers[PAUSE] = pause
        if self.package.front:
            # Before the services, so that none of them has its port.
            self.join(front.NAME, lambda *given: front.front_options(self._pause_image, self.package.origins, *given))

        def start(name: str) -> None:
            options = service_options(built[name], pause, self.labels, self._name(name))
            self._containers[name] = self._start(name, options)

        built = {each.service.name: each for each in self.package.services}
        self._start_in_order(start, deadline)

    def join(self, name: str, options: Options) -> None:
        made = options(self._containers[PAUSE], self.labels, self._name(name))
        self._containers[name] = self._engine.start(made)

    def leave(self, name: str) -> None:
        if container := self._containers.pop(name, ""):
            self._engine.remove(container)

    def channel(self, name: str, parent: Path, fill: Callable[[Path], object]) -> Channel:
        made = Channel(parent)
        try:
            fill(made.folder)
        except BaseException:
            made.close()
            raise
        return made

    def file(self, service: str, path: str) -> bytes:
        """Return a small file of a service. Raises ExportRefused if it is missing, no plain file, or too large."""
        deadline = time.monotonic() + EXPORT_SECONDS
        with self._engine.archive(self._containers[service], path, deadline=deadline) as pieces:
            return next(iter(files_of(pieces, "file", most_bytes=FILE_BYTES).values()), b"")

    def commit(self, repository: str, tag: str, labels: Mapping[str, str]) -> dict[str, str]:
        """Stop the services, the last first, and make images of them; return their content ids by service.

        Their names are those of `seeded_tag`. The labels of this world are emptied on them.
        """
        services = [built.service.name for built in reversed(self.package.services)]
        for name in services:
            self._engine.stop(self._containers[name], STOP_SECONDS)
        plain = {**dict.fromkeys(self.labels, ""), **labels}
        return {
            name: self._engine.commit(self._containers[name], repository, seeded_tag(tag, name), plain)
            for name in services
        }

    def remove(self) -> None:
        if self._is_removed:
            return
        self._is_removed = True
        try:
            self._engine.sweep(WORLD_LABEL, self.token, last=PAUSE)
        except PlatformFault as fault:
            logger.error("The world %s could not be removed and is left to the reaper: %s", self.token, fault)
        finally:
            self._lease.end()
            self._engine.close()

    def _name(self, service: str) -> str:
        parts = ("arena-world", self.labels.get(ROLLOUT_LABEL, ""), self.token[:16], service)
        return "-".join(filter(None, parts))

    def _start(self, service: str, options: Mapping[str, Any]) -> str:
        try:
            return self._engine.start(options)
        except PlatformFault as fault:
            if fault.code != REFUSED:
                raise
            # E.g. a user that the image does not know, which is the package's own fault.
            raise WorldFault(f"The service {service} does not start. {fault}", code="world_not_healthy") from None
