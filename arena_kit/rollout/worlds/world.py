"""One world: provisioned for one rollout, exported, and destroyed. Nothing is ever used again."""

from __future__ import annotations

import contextlib
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from arena_kit.errors import PlatformFault
from arena_kit.rollout.exports.state import MOST_BYTES, ExportRefused
from arena_kit.rollout.packages.compose import Service
from arena_kit.rollout.worlds import front
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.containers import Containers, Ran
from arena_kit.rollout.worlds.fetching import files_of
from arena_kit.rollout.worlds.ports import Ports, ports_of
from arena_kit.sandbox.base import Container, Launch, SandboxError
from arena_kit.sandbox.channel import Channel

if TYPE_CHECKING:
    # Only sites have the cluster.
    from arena_kit.cluster.manifest import PodPlayerSpec

logger = logging.getLogger(__name__)
PROVISION_SECONDS, EXPORT_SECONDS = 120.0, 60.0
WORLD_LABEL, ARENA_LABEL, DEADLINE_LABEL = "arena.world", "arena.worlds", "arena.deadline"
"""On each container: the token of its world's lease, the name of the folder of leases, and the time (in seconds since
1970) at which anything of the world may be removed, whatever else is known about it."""
ROLLOUT_LABEL = "arena.rollout"
"""On each container of the world of a site's rollout: the id of the rollout, which the names have too."""
PAUSE = "_pause"
"""Names the container that holds the network; no service can be called so."""
LOG_CHARACTERS = 2_000
TRIED_AGAIN = ("export_failed", "engine_unavailable", "cluster_unavailable")
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


Options = Callable[[str, Mapping[str, str], str], Mapping[str, Any]]
"""Makes the options of a container of an engine from the network's container, the labels and the name."""


@dataclass(frozen=True, slots=True)
class Extras:
    """The container that joins a world after its services. memory_bytes: of all of it. has_browser: whether a browser
    is part of it.

    player: the agent's container, of an agent that has one.
    """

    memory_bytes: int = 0
    has_browser: bool = False
    player: PodPlayerSpec | None = None


NOTHING = Extras()


class World(ABC):
    """A running instance of a package. `with` removes it. Raises PlatformFault.

    Whatever runs its containers, the network that they share has loopback only, and services start in their order.
    """

    has_player = False
    """Whether the agent's own container is one of this world, and so ends with it."""

    def __init__(self, package: BuiltPackage, token: str, labels: Mapping[str, str], containers: Containers) -> None:
        """token: names the world. labels: further ones. containers: the calls about its containers."""
        self.package, self.token = package, token
        self.labels: Mapping[str, str] = {**labels, WORLD_LABEL: token}
        self._calls = containers
        self._containers: dict[str, str] = {}
        """Ids by name."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    @abstractmethod
    def provision(self, deadline: float) -> None:
        """Start the services in their order, each when those before it are healthy. deadline: monotonic."""

    @abstractmethod
    def join(self, name: str, options: Options) -> None:
        """Start a further container in the network of this world, which is removed with it."""

    @abstractmethod
    def leave(self, name: str) -> None:
        """End a container that has joined, before the world is exported."""

    @abstractmethod
    def channel(self, name: str, parent: Path, fill: Callable[[Path], object]) -> Channel:
        """Return the folder of sockets that this process shares with a container that joins.

        parent: of such folders on this host. fill: writes what the container finds there. Raises SandboxError.
        """

    @abstractmethod
    def remove(self) -> None:
        """Remove all containers of the world. What fails is left to the reaper. May be called twice."""

    def launch(self, player: Launch) -> Container:
        """Return the agent's player in this world. Raises SandboxError and PlayerDidNotStart."""
        raise SandboxError("A player of this world runs outside of it.", code="no_player_here")

    def is_running(self, name: str) -> bool:
        """Return whether the first process of a container of this world still runs."""
        return self._calls.is_running(self._containers[name])

    def run(
        self, service: str, command: Sequence[str], *, seconds: float, environment: Mapping[str, str] | None = None
    ) -> Ran:
        """Run a command in a service, as its user."""
        deadline = time.monotonic() + seconds
        return self._calls.run(self._containers[service], command, deadline=deadline, environment=environment)

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
        with self._calls.archive(self._containers[front.NAME], front.LOG, deadline=deadline) as pieces:
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
            with self._calls.archive(self._containers[export.service], export.files, deadline=deadline) as pieces:
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
        return self._calls.log(self._containers[service])

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
            if is_relied_on and not self._calls.is_running(self._containers[service.name]):
                log = self.log(service.name)[-LOG_CHARACTERS:]
                raise WorldFault(f"The service {service.name} has ended.", code="service_ended", log=log)

    def _start_in_order(self, start: Callable[[str], None], deadline: float) -> None:
        """Start the services one by one, each when those before it are healthy, and wait for the proxy."""
        services = [built.service for built in self.package.services]
        watched = [port for service in services if not service.health.test for port in service.ports]
        with ports_of(self._calls, self._containers[PAUSE], watched, deadline) as ports:
            for service in services:
                start(service.name)
                self._wait(service, ports, deadline)
        if self.package.front:
            self._wait_for_front(deadline)

    def _export_command(self, service: str, command: Sequence[str], deadline: float) -> None:
        ran = self._calls.run(self._containers[service], command, deadline=deadline)
        if ran.status != 0:
            sentence = f"The command {command[0]} of the export ended with {ran.status} in {service}."
            raise WorldFault(sentence, code="export_failed", log=ran.output[-LOG_CHARACTERS:])

    def _wait(self, service: Service, ports: Ports, deadline: float) -> None:
        """Wait until a service is healthy."""
        health, failed = service.health, 0
        patient_until = time.monotonic() + health.start_seconds
        while self._calls.is_running(self._containers[service.name]):
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
            return self._calls.run(self._containers[service.name], health.test, deadline=latest).status == 0
        return ports.accept(service.ports, deadline)

    def _unhealthy(self, service: Service, why: str) -> WorldFault:
        log = self._calls.log(self._containers[service.name])[-LOG_CHARACTERS:]
        sentence = f"The service {service.name} of {self.package.slug} did not become healthy: {why}."
        return WorldFault(sentence, code="world_not_healthy", log=log)
