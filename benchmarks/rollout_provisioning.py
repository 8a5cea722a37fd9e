"""A shipped package that is built for a benchmark, and how fast its worlds start beside Compose with a dump."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import os
import statistics
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena_kit.errors import PlatformFault
from arena_kit.rollout.building.build import package_build, package_remove
from arena_kit.rollout.building.images import Bases
from arena_kit.rollout.packages.compose import BASES
from arena_kit.rollout.packages.manifest import Export
from arena_kit.rollout.packages.package import Package, package_read
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.host import DockerWorlds, base_images
from benchmarks.common import say

FOLDER = Path(__file__).parents[1] / "environments" / "applications"
MEMORY_BYTES = 6 << 30
WAIT_SECONDS = 120.0
COMPOSE = """
version: "3"
services:
  db:
    container_name: {project}-db
    image: rl-arena-app-postgres
    command: [arena-postgres, {name}]
    extra_hosts: ["db:127.0.0.1", "web:127.0.0.1"]
  web:
    container_name: {project}-web
    image: rl-arena-app-python
    command: [python, -m, {name}.server]
    network_mode: "service:db"
    volumes: ["{files}:/app:ro"]
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A built package and where its worlds start."""

    package: Package
    built: BuiltPackage
    worlds: DockerWorlds
    leases: Path


@contextlib.contextmanager
def place(name: str, folder: Path) -> Iterator[Place]:
    """Build a shipped package; its images are removed at the end. Raises PlatformFault without an engine or bases."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted((FOLDER / name).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(FOLDER / name).as_posix())
    package = package_read(file)
    names = {base: f"rl-arena-app-{base.removeprefix('base:')}" for base in BASES}
    bases = Bases(names, prefix())
    pause = base_images({"base:python": names["base:python"]})["base:python"]
    worlds = DockerWorlds(folder / "worlds", memory_bytes=MEMORY_BYTES, pause_image=pause)
    say(f"{name} is being built")
    built = package_build(file, package, worlds=worlds, bases=bases, log=lambda _: None)
    try:
        yield Place(package, built, worlds, folder / "worlds")
    finally:
        package_remove(built, bases)


def prefix() -> str:
    """Return the beginning of the names of the images that this process makes."""
    return f"rl-arena-bench-{os.getpid()}"


def provisioning(found: Place, rounds: int) -> dict[str, Any]:
    """Return the median seconds until a world is ready, and beside it those of Compose with a dump."""
    name = found.built.slug
    own: list[float] = []
    other: list[float] = []
    # COMPOSE describes a database and a server of pages in Python.
    is_comparable = {each.service.image for each in found.built.services} == {"base:postgres", "base:python"}
    dump = _dump(found, name) if is_comparable else b""
    for number in range(rounds):
        say(f"provisioning {number + 1} of {rounds}")
        begun = time.monotonic()
        with found.worlds.open(found.built, seconds=600):
            own.append(time.monotonic() - begun)
        if is_comparable:
            other.append(composed(name, dump))
    report: dict[str, Any] = {"provision_seconds": round(statistics.median(own), 2)}
    if other:
        report["compose_seconds"] = round(statistics.median(other), 2)
        report["provision_speedup"] = round(statistics.median(other) / statistics.median(own), 2)
    return report


def _dump(found: Place, name: str) -> bytes:
    """Return the data of the package as PostgreSQL's own dump."""
    command = ("sh", "-c", f"rm -rf /export/*; pg_dump -h /tmp {name} >/export/dump.sql")
    dumping = dataclasses.replace(found.built, exports=(Export("db", "file", "/export", command),))
    with found.worlds.open(dumping, seconds=600) as world:
        return world.export()["dump.sql"]


def composed(name: str, dump: bytes) -> float:
    """Return the seconds from `docker-compose up` to an answering application with the data of a dump."""
    project = f"arenabench{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix="arena-compose-") as folder:
        file = Path(folder) / "docker-compose.yml"
        file.write_text(
            COMPOSE.format(project=project, name=name, files=FOLDER / name / "services" / "web"), encoding="utf-8"
        )
        base = ["docker-compose", "--project-name", project, "--file", str(file)]
        begun = time.monotonic()
        try:
            _run([*base, "up", "--detach"])
            # By the engine's own program: that of Compose takes a second for each call.
            inside = ["docker", "exec", "--interactive"]
            _until([*inside, f"{project}-db", "pg_isready", "-h", "/tmp", "-d", name])
            _run([*inside, f"{project}-db", "psql", "-q", "-h", "/tmp", name], dump)
            _until([*inside, f"{project}-web", "python3", "-c",
                    "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/')"])  # fmt: skip
            return time.monotonic() - begun
        finally:
            _run([*base, "down", "--volumes", "--timeout", "0"])


def _run(command: Sequence[str], given: bytes = b"") -> None:
    subprocess.run(command, input=given, check=True, capture_output=True, timeout=WAIT_SECONDS)


def _until(command: Sequence[str]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    for _ in itertools.count():
        if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0:
            return
        if time.monotonic() > deadline:
            raise PlatformFault(f"{command[-1]} does not answer.", code="compose_failed")
        time.sleep(0.05)
