"""What must stay true on this host, looked at from outside the sandboxes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from docker import DockerClient
from docker.errors import NotFound

from tests.hostile.probe import PLANTED

PR_SET_CHILD_SUBREAPER = 36
SETTLE_SECONDS = 30.0
"""What players leave behind ends by itself, but much later than this."""
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run")
USER_FILES = ("/etc/passwd", "/etc/group", "/etc/shadow")


class Host:
    """Compares this host with what it was: processes, containers, mounts, files, users, threads.

    Others work on this host, too, so only what can be told to be ours counts. label: `key=value` of our containers.
    folders: our own, which must be empty after every case.
    """

    def __init__(self, label: str, folders: tuple[Path, ...], engine: DockerClient | None) -> None:
        self._label, self._folders, self._engine = label, folders, engine
        self._token = label.partition("=")[2].encode()
        # Whatever is orphaned below this process stays below it and is found.
        adopt_orphans(True)
        self.accept_processes()
        self._users = [read(path) for path in USER_FILES]
        self._threads = set(threading.enumerate())
        self._begun = int(time.time())
        self._root = engine.info()["DockerRootDir"] if engine else ""
        self._mounts = mounts(self._root)
        self._planted = set(planted())
        self._layers: dict[str, str] = {}
        """Where the layers of each container, by its id, are mounted: that never changes, and asking takes time."""

    def close(self) -> None:
        adopt_orphans(False)

    def accept_processes(self) -> None:
        """Count what runs below this process now, before a case, as its own."""
        self._children = set(descendants())

    def problems(self) -> list[str]:
        """What is left over once everything has had time to end.

        Of mounts, which all processes share, only those that every look finds: others come and go meanwhile.
        """
        deadline = time.monotonic() + SETTLE_SECONDS
        found = list(self._look())
        while found and time.monotonic() < deadline:
            time.sleep(0.1)
            before = set(found)
            found = [problem for problem in self._look() if not problem.startswith("mount ") or problem in before]
        return found

    def _look(self) -> Iterator[str]:
        yield from (f"process {pid} is left" for pid in descendants() if self._is_left(pid))
        yield from (
            f"process {pid} carries our mark" for pid in marked(b"ARENA_CONTAINER=arena-hostile-" + self._token)
        )
        yield from (f"{path} is left" for folder in self._folders if folder.exists() for path in folder.iterdir())
        yield from (f"{path} was planted" for path in planted() if path not in self._planted)
        if [read(path) for path in USER_FILES] != self._users:
            yield "the users of this host have changed"
        yield from (f"thread {thread.name} is left" for thread in set(threading.enumerate()) - self._threads)
        if self._engine is not None:
            yield from self._look_at_engine(self._engine)

    def _look_at_engine(self, engine: DockerClient) -> Iterator[str]:
        filters = {"label": self._label}
        ours = engine.api.containers(all=True, filters={**filters})
        yield from (f"container {container['Names'][0].removeprefix('/')} is left" for container in ours)
        # A moment in whole seconds would be waited for.
        until = f"{time.time():.6f}"
        made = engine.events(
            since=self._begun,
            until=until,  # type: ignore[call-overload]  # the engine takes fractions, the stubs do not know
            filters={**filters, "event": "create"},
            decode=True,
        )
        ids = {event["id"] for event in made}
        yield from (f"process {pid} of a container is left" for pid, name in container_processes() if name in ids)
        if new_mounts := mounts(self._root) - self._mounts:
            there = {container["Id"] for container in engine.api.containers(all=True)}
            for container_id in there - self._layers.keys():
                with contextlib.suppress(NotFound):
                    layers = engine.api.inspect_container(container_id)["GraphDriver"]["Data"] or {}
                    self._layers[container_id] = layers.get("MergedDir", "")
            known = {mount for container_id, mount in self._layers.items() if container_id in there}
            yield from (f"mount {mount} is left" for mount in new_mounts - known)

    def _is_left(self, pid: int) -> bool:
        if pid in self._children:
            return False
        with contextlib.suppress(OSError):
            # A zombie that came to this process is only waiting for a word.
            return os.waitpid(pid, os.WNOHANG)[0] == 0
        return True


def adopt_orphans(yes: bool) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)


def read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def planted() -> list[Path]:
    return [path for folder in SHARED_FOLDERS for path in Path(folder).glob(PLANTED + "*")]


def descendants() -> list[int]:
    """Processes below this one."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        if status := read(entry / "stat"):
            parents[int(entry.name)] = int(status.rsplit(b")", 1)[1].split()[1])
    found: list[int] = []
    level = [os.getpid()]
    while level := [pid for pid, parent in parents.items() if parent in level]:
        found += level
    return found


def marked(mark: bytes) -> list[int]:
    """Processes whose environment holds a mark."""
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if mark in read(entry / "environ")]


def mounts(root: str) -> set[str]:
    """Where the layers of an engine's containers are mounted."""
    places = (line.split()[4].decode() for line in read("/proc/self/mountinfo").splitlines())
    return {place for place in places if place.startswith(root) and place.endswith("/merged")}


def container_processes() -> Iterator[tuple[int, str]]:
    """Processes with the names of their control groups: those of containers are called by the container's id."""
    for entry in Path("/proc").glob("[0-9]*"):
        for name in {line.rpartition("/")[2] for line in read(entry / "cgroup").decode().splitlines()}:
            yield int(entry.name), name.removeprefix("docker-").removesuffix(".scope")
