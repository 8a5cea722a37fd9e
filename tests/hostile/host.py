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

from tests.hostile.probe import PLANTED

PR_SET_CHILD_SUBREAPER = 36
SETTLE_SECONDS = 4.0
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
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._children = set(descendants())
        self._users = [read(path) for path in USER_FILES]
        self._mounts = mounts()
        self._planted = set(planted())

    def problems(self) -> list[str]:
        """What is left over once everything has had a few seconds to end."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while (found := list(self._look())) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    def _look(self) -> Iterator[str]:
        yield from (f"process {pid} is left" for pid in descendants() if self._is_left(pid))
        yield from (f"process {pid} carries our mark" for pid in marked(b"ARENA_CONTAINER=arena-hostile-" + self._token))
        yield from (f"{path} is left" for folder in self._folders if folder.exists() for path in folder.iterdir())
        yield from (f"{path} was planted" for path in planted() if path not in self._planted)
        if [read(path) for path in USER_FILES] != self._users:
            yield "the users of this host have changed"
        yield from (f"thread {thread.name} is left" for thread in threading.enumerate() if thread.name == "player-log")
        if self._engine is not None:
            yield from self._look_at_engine(self._engine)

    def _look_at_engine(self, engine: DockerClient) -> Iterator[str]:
        ours = engine.containers.list(all=True, filters={"label": self._label}, ignore_removed=True)
        yield from (f"container {container.name} is left" for container in ours)
        new_mounts = mounts() - self._mounts
        strays = containers_of_processes()
        if new_mounts or strays:
            containers = engine.containers.list(all=True, ignore_removed=True)
            known = {container.attrs["GraphDriver"]["Data"].get("MergedDir", "") for container in containers}
            yield from (f"mount {mount} is left" for mount in new_mounts - known)
            ids = {container.id for container in containers}
            yield from (f"process {pid} of a removed container is left" for pid, i in strays.items() if i not in ids)

    def _is_left(self, pid: int) -> bool:
        if pid in self._children:
            return False
        with contextlib.suppress(OSError):
            # A zombie that came to this process is only waiting for a word.
            return os.waitpid(pid, os.WNOHANG)[0] == 0
        return True


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


def mounts() -> set[str]:
    """Where the layers of containers are mounted."""
    places = (line.split()[4].decode() for line in read("/proc/self/mountinfo").splitlines())
    return {place for place in places if place.endswith("/merged")}


def containers_of_processes() -> dict[int, str]:
    """Process to the id of the engine's container whose control group it is in."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        for line in read(entry / "cgroup").decode().splitlines():
            name = line.rpartition("/")[2].removeprefix("docker-").removesuffix(".scope")
            if "docker" in line and len(name) == 64:
                found[int(entry.name)] = name
    return found
