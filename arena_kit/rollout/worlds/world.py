"""One world: provisioned for one rollout, exported, and destroyed. Nothing is ever used again."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from arena_kit.errors import PlatformFault
from arena_kit.rollout.exports.state import MOST_BYTES, ExportRefused
from arena_kit.rollout.packages.compose import Service
from arena_kit.rollout.worlds import front
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.engine import REFUSED, Engine, Ran
from arena_kit.rollout.worlds.fetching import files_of
from arena_kit.rollout.worlds.ports import Ports, ports_of
from arena_kit.rollout.worlds.walls import pause_options, service_options
from arena_kit.sandbox.lock_file import LockFile

logger = logging.getLogger(__name__)
PROVISION_SECONDS, EXPORT_SECONDS, STOP_SECONDS = 120.0, 60.0, 30
WORLD_LABEL, ARENA_LABEL, DEADLINE_LABEL = "arena.world", "arena.worlds", "arena.deadline"
"""On each container: the token of its world's lease, the name of the folder of leases, and the time (in seconds since
1970) at which anything of the world may be removed, whatever else is known about it."""
PAUSE = "_pause"
"""Names the container that holds the network; no service can be called so."""
LOG_CHARACTERS = 2_000
TRIED_AGAIN = ("export_failed", "engine_unavailable")
"""Codes of exports that may succeed a second time; what is too large or no plain file is so again."""
_POLL_SECONDS = 0.02


def seeded_tag(tag: str, service: str) -> str:
    """Return the tag of a service's image with its data. tag: of the package."""
    return f"{tag}-{service}-seeded"


class WorldFault(PlatformFault):
    """A world that did not start or could not be exported. log: the end of what the service in question printed."""

    def __init__(self, message: str, *, code: str, log: str = "") -> None:
        super().__init__(message, code=code)
        self.log = log


class World:
    """A running instance of a package. `with` removes it; `Worlds.open` makes it. Raises PlatformFault.

    Clean-up needs no `finally`: when this process dies, the kernel opens the lease, and the next `Worlds.reap` of any
    process with the same folder removes the containers.
    """

    def __init__(self, package: BuiltPackage, lease: LockFile, labels: Mapping[str, str], pause_image: str) -> None:
        self.package, self.token = package, lease.token
        self._lease, self._pause_image = lease, pause_image
        self.labels: Mapping[str, str] = {**labels, WORLD_LABEL: lease.token}
        self._engine = Engine()
        self._containers: dict[str, str] = {}
        self._is_removed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def provision(self, deadline: float) -> None:
        """Start the services in their order, each when those before it are healthy. deadline: monotonic."""
        names = tuple(built.service.name for built in self.package.services)
        pause = self._engine.start(pause_options(self._pause_image, names, self.labels, self._name(PAUSE)))
        self._containers[PAUSE] = pause
        if self.package.front:
            # Before the services, so that none of them has its port.
            self.join(front.NAME, lambda *given: front.front_options(self._pause_image, self.package.origins, *given))
        services = [built.service for built in self.package.services]
        watched = [port for service in services if not service.health.test for port in service.ports]
        with ports_of(self._engine, pause, watched, deadline) as ports:
            for built in self.package.services:
                name = built.service.name
                options = service_options(built, pause, self.labels, self._name(name))
                self._containers[name] = self._start(name, options)
                self._wait(built.service, ports, deadline)
        if self.package.front:
            self._wait_for_front(deadline)

    def join(self, name: str, options: Callable[[str, Mapping[str, str], str], Mapping[str, Any]]) -> None:
        """Start a further container in the network of this world, which is removed with it.

        options: makes its options from the network's container, the labels and the name.
        """
        made = options(self._containers[PAUSE], self.labels, self._name(name))
        self._containers[name] = self._engine.start(made)

    def leave(self, name: str) -> None:
        """Kill and remove a container that has joined, before the world is exported."""
        if container := self._containers.pop(name, ""):
            self._engine.remove(container)

    def is_running(self, name: str) -> bool:
        """Return whether the first process of a container of this world still runs."""
        return self._engine.is_running(self._containers[name])

    def run(
        self, service: str, command: Sequence[str], *, seconds: float, environment: Mapping[str, str] | None = None
    ) -> Ran:
        """Run a command in a service, as its user."""
        deadline = time.monotonic() + seconds
        return self._engine.run(self._containers[service], command, deadline=deadline, environment=environment)

    def check_fresh(self) -> None:
        """Raise WorldFault unless this world, in which no agent has worked, exports what its package has."""
        with self.package.state(self.export()) as state:
            if state.digest() != self.package.digest:
                sentence = f"A fresh world of {self.package.slug} does not hold what was stored when it was built."
                raise WorldFault(sentence, code="world_not_fresh")

    def export(self) -> dict[str, bytes]:
        """Return the exported files by name; a second try is made of what fails. Raises ExportRefused."""
        try:
            return self._export()
        except (PlatformFault, ExportRefused) as fault:
            if fault.code not in TRIED_AGAIN:
                raise
            logger.warning("The export of the world %s is tried again: %s", self.token, fault)
            return self._export()

    def requests(self) -> list[Mapping[str, Any]]:
        """Return what the proxy of this world has been asked for so far. Raises PlatformFault."""
        deadline = time.monotonic() + EXPORT_SECONDS
        with self._engine.archive(self._containers[front.NAME], front.LOG, deadline=deadline) as pieces:
            (log,) = files_of(pieces, "file").values()
        return front.requests_kept(log)

    def logs(self) -> dict[str, str]:
        """Return the end of what each service has printed; empty where the engine does not say."""
        return {built.service.name: self.log(built.service.name) for built in self.package.services}

    def _export(self) -> dict[str, bytes]:
        self._check_running()
        deadline = time.monotonic() + EXPORT_SECONDS
        files: dict[str, bytes] = {}
        for export in self.package.exports:
            if export.command:
                self._export_command(export.service, export.command, deadline)
            with self._engine.archive(self._containers[export.service], export.files, deadline=deadline) as pieces:
                left = MOST_BYTES - sum(map(len, files.values()))
                found = files_of(pieces, export.format, most_bytes=left)
            if same := sorted(files.keys() & found.keys()):
                raise ExportRefused(f"Two exports have a file called {same[0]}.", code="bad_export")
            files |= found
        # What a service had not yet written when it ended is not an agent's failure either.
        self._check_running()
        return files

    def log(self, service: str) -> str:
        """Return the end of what a service has printed."""
        return self._engine.log(self._containers[service])

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
        """Remove all containers of the world and give its memory back. What fails is left to `Worlds.reap`."""
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

    def _wait_for_front(self, deadline: float) -> None:
        """Wait until the proxy that the browser is led through says that it listens."""
        while self.is_running(front.NAME) and time.monotonic() < deadline:
            if front.READY in self.log(front.NAME):
                return
            time.sleep(_POLL_SECONDS)
        log = self.log(front.NAME)[-LOG_CHARACTERS:]
        raise WorldFault(f"The proxy of {self.package.slug} did not start.", code="front_failed", log=log)

    def _check_running(self) -> None:
        """Raise WorldFault if a service that others rely on has ended, so that no agent is blamed for its absence."""
        for built in self.package.services:
            service = built.service
            is_relied_on = bool(service.ports or service.health.test)
            if is_relied_on and not self._engine.is_running(self._containers[service.name]):
                log = self.log(service.name)[-LOG_CHARACTERS:]
                raise WorldFault(f"The service {service.name} has ended.", code="service_ended", log=log)

    def _name(self, service: str) -> str:
        return f"arena-world-{self.token[:16]}-{service}"

    def _start(self, service: str, options: Mapping[str, Any]) -> str:
        try:
            return self._engine.start(options)
        except PlatformFault as fault:
            if fault.code != REFUSED:
                raise
            # E.g. a user that the image does not know, which is the package's own fault.
            raise WorldFault(f"The service {service} does not start. {fault}", code="world_not_healthy") from None

    def _export_command(self, service: str, command: Sequence[str], deadline: float) -> None:
        ran = self._engine.run(self._containers[service], command, deadline=deadline)
        if ran.status != 0:
            sentence = f"The command {command[0]} of the export ended with {ran.status} in {service}."
            raise WorldFault(sentence, code="export_failed", log=ran.output[-LOG_CHARACTERS:])

    def _wait(self, service: Service, ports: Ports, deadline: float) -> None:
        """Wait until a service is healthy."""
        health, failed = service.health, 0
        patient_until = time.monotonic() + health.start_seconds
        while self._engine.is_running(self._containers[service.name]):
            tried_at = time.monotonic()
            if self._is_healthy(service, ports, deadline):
                return
            failed += time.monotonic() > patient_until
            if failed >= health.retries or time.monotonic() > deadline:
                break
            with contextlib.suppress(ValueError):
                time.sleep(tried_at + health.interval_seconds - time.monotonic())
        else:
            raise self._unhealthy(service, "it has ended")
        raise self._unhealthy(
            service, "its health check does not succeed" if health.test else "its ports do not accept"
        )

    def _is_healthy(self, service: Service, ports: Ports, deadline: float) -> bool:
        if (health := service.health).test:
            latest = min(deadline, time.monotonic() + health.timeout_seconds)
            return self._engine.run(self._containers[service.name], health.test, deadline=latest).status == 0
        return ports.accept(service.ports, deadline)

    def _unhealthy(self, service: Service, why: str) -> WorldFault:
        log = self._engine.log(self._containers[service.name])[-LOG_CHARACTERS:]
        sentence = f"The service {service.name} of {self.package.slug} did not become healthy: {why}."
        return WorldFault(sentence, code="world_not_healthy", log=log)
