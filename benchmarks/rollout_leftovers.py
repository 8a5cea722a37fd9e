"""The remains of rollouts on a host, whatever others do on the same engine at the time.

Containers carry the label of their arena, but the engine gives no labels to the volumes and networks that it makes for
them. Its events say which container has mounted a volume or was connected to a network, so only those of our own
containers are counted.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import docker

from arena_kit.image.engine import connect
from arena_kit.rollout.worlds.world import ARENA_LABEL
from benchmarks.rollout_provisioning import Place, prefix

LAST_SECONDS = 60.0
"""How long the engine may take to tell what has happened so far."""
OF_THE_ENGINE = frozenset({"bridge", "host", "none"})
"""Networks that each engine has."""


class Events:
    """Follows the engine's events and keeps the names of what the containers of one arena have used."""

    def __init__(self, client: docker.DockerClient, arena: str) -> None:
        """arena: the label of its containers."""
        self._arena = arena
        self.containers: set[str] = set()
        self.volumes: set[str] = set()
        self.networks: set[str] = set()
        self._marks: set[str] = set()
        kinds = {"type": ["container", "volume", "network"], "event": ["create", "mount", "connect"]}
        # From a moment ago, so that nothing is missed between this call and the first event.
        self._stream = client.api.events(since=int(time.time()) - 1, filters=kinds, decode=True)
        self._thread = threading.Thread(target=self._follow, name="engine-events", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop following."""
        self._stream.close()
        self._thread.join()

    def wait(self) -> None:
        """Wait until everything that has happened so far is known. Raises RuntimeError if the engine does not say."""
        mark = f"{prefix()}-mark-{time.monotonic_ns()}"
        # With a connection of its own: docker-py leaves one open after it has removed a volume.
        client = connect()
        client.api.create_volume(mark)
        try:
            deadline = time.monotonic() + LAST_SECONDS
            while mark not in self._marks:
                if not self._thread.is_alive() or time.monotonic() > deadline:
                    raise RuntimeError("The engine no longer tells its events, so what is left over is not known.")
                time.sleep(0.01)
        finally:
            client.api.remove_volume(mark)
            client.close()

    def take(self, event: Mapping[str, Any]) -> None:
        """Keep what an event says about our containers. It tells of a container before it tells what it uses."""
        actor = event["Actor"]
        attributes = actor.get("Attributes") or {}
        match event["Type"], event["Action"]:
            case "container", "create":
                if attributes.get(ARENA_LABEL) == self._arena:
                    self.containers.add(actor["ID"])
            case "volume", "create":
                self._marks.add(actor["ID"])
            case "volume", "mount":
                if attributes.get("container") in self.containers:
                    self.volumes.add(actor["ID"])
            case "network", "connect":
                if attributes.get("container") in self.containers and attributes.get("name") not in OF_THE_ENGINE:
                    self.networks.add(actor["ID"])

    def _follow(self) -> None:
        # The stream breaks off with one of many errors when it is closed; `wait` tells when it has ended before.
        with contextlib.suppress(Exception):
            for event in self._stream:
                self.take(event)


class Host:
    """Counts what the rollouts of one place might leave on this host."""

    def __init__(self, found: Place, client: docker.DockerClient, temporary: Path) -> None:
        """temporary: the folder of this process's temporary files."""
        self._found, self._client, self._temporary = found, client, temporary
        self._arena = (found.leases / "name").read_text()
        self._events = Events(client, self._arena)

    def close(self) -> None:
        """Stop following the engine's events."""
        self._events.close()

    def count(self) -> dict[str, int]:
        """Return the numbers of what is there now. Raises RuntimeError."""
        self._events.wait()
        api = self._client.api
        everything = api.containers(all=True)
        label = (ARENA_LABEL, self._arena)
        containers = {each["Id"] for each in everything if label in (each["Labels"] or {}).items()}
        containers |= self._events.containers & {each["Id"] for each in everything}
        volumes = {each["Name"] for each in api.volumes()["Volumes"] or ()}
        networks = {each["Id"] for each in api.networks()}
        tags = [tag for image in api.images() for tag in image["RepoTags"] or ()]
        return {
            "containers": len(containers),
            "volumes": len(self._events.volumes & volumes),
            "networks": len(self._events.networks & networks),
            "images": sum(tag.startswith(prefix()) for tag in tags),
            "reserved": self._found.worlds.reserved_bytes(),
            "leases": sum(1 for path in self._found.leases.rglob("*") if path.is_file()),
            "sockets": sum(1 for path in self._found.leases.parent.rglob("*") if path.is_socket()),
            "temporary": sum(1 for _ in self._temporary.rglob("*")),
            "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()),
            "threads": threading.active_count(),
        }

    def seen(self) -> dict[str, int]:
        """Return how many containers, volumes and networks the rollouts have used in all."""
        events = self._events
        return {"containers": len(events.containers), "volumes": len(events.volumes), "networks": len(events.networks)}


@contextlib.contextmanager
def host(found: Place) -> Iterator[Host]:
    """Yield what counts leftovers; this process's temporary files are in a folder of their own meanwhile."""
    client = connect()
    usual = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="arena-left-") as folder:
        tempfile.tempdir = folder
        try:
            counting = Host(found, client, Path(folder))
            try:
                yield counting
            finally:
                counting.close()
        finally:
            tempfile.tempdir = usual
            client.close()


def changes(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return how much more there is of each of which there is not the same."""
    return {key: after[key] - before[key] for key in before if after[key] != before[key]}
