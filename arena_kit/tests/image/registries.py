"""Debian's registry of images on this machine's loopback, which a test may kill, and small images to put into it."""

from __future__ import annotations

import functools
import io
import os
import random
import shutil
import signal
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import docker
import requests
from docker.errors import ImageNotFound

from arena_kit.image.layer import commit_layer, folder_layer
from arena_kit.image.registry import Registry

PROGRAM = "docker-registry"
USER, PASSWORD = "arena", "correct horse"
LOGIN = f"{USER}:$2y$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"
"""The line of an htpasswd file for them, with the least costly bcrypt."""
START_SECONDS = 60.0
CONFIG = """
version: 0.1
log: {{level: warn, accesslog: {{disabled: true}}}}
storage:
  filesystem: {{rootdirectory: {folder}/data}}
  delete: {{enabled: {removable}}}
http: {{addr: "127.0.0.1:{port}"}}
"""
AUTH = "auth: {{htpasswd: {{realm: arena, path: {folder}/htpasswd}}}}\n"


class RegistryServer:
    """A registry with a password. Its data outlasts its process."""

    def __init__(self, folder: Path, *, removable: bool = True, is_open: bool = False) -> None:
        """is_open: it asks for no password."""
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        (folder / "htpasswd").write_text(f"{LOGIN}\n")
        config = CONFIG.format(folder=folder, port=self.port, removable=str(removable).lower())
        config += "" if is_open else AUTH.format(folder=folder)
        (folder / "config.yml").write_text(config)
        login = () if is_open else (USER, PASSWORD)
        self.registry = Registry(f"127.0.0.1:{self.port}/arena/players", *login)
        self.start()

    def start(self) -> None:
        command = [PROGRAM, "serve", str(self._folder / "config.yml")]
        with (self._folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self.process.poll() is None, (self._folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def lose_all(self) -> None:
        """Lose its disk, and begin anew with an empty one at the same address."""
        self.kill()
        shutil.rmtree(self._folder / "data")
        self.start()

    def garbage_collect(self) -> None:
        """Free the disk of what was removed, as the operator does."""
        command = [PROGRAM, "garbage-collect", str(self._folder / "config.yml")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stored_bytes(self) -> int:
        return sum(path.stat().st_size for path in (self._folder / "data").rglob("data"))

    def _answers(self) -> bool:
        with suppress(requests.ConnectionError):
            return requests.get(f"http://127.0.0.1:{self.port}/v2/", timeout=5).status_code in (200, 401)
        return False


@contextmanager
def registry_server(folder: Path, *, removable: bool = True, is_open: bool = False) -> Iterator[RegistryServer]:
    """Run a registry, and end it."""
    server = RegistryServer(folder, removable=removable, is_open=is_open)
    try:
        yield server
    finally:
        server.kill()


PACK = """
import glob, re, subprocess, tarfile
left_out = re.compile("/(test|idlelib|ensurepip|lib2to3|pydoc_data|__pycache__|config-3[^/]*|dist-packages)(/|$)")
programs = ["/usr/bin/" + name for name in ("dash", "cat", "timeout", "python3.11")]
objects = programs + glob.glob("/usr/lib/python3.11/lib-dynload/*.so")
told = subprocess.run(["ldd", *objects], capture_output=True, text=True).stdout
libraries = set(re.findall(r"=> (/\\S+)", told)) | set(re.findall(r"^\\s+(/lib64\\S+)", told, re.M))
with tarfile.open("/small.tar", "w") as tar:
    for name in ("/bin", "/lib", "/lib64", "/tmp"):
        tar.add(name, recursive=False)
    for name, target in (("sh", "dash"), ("python3", "python3.11")):
        link = tarfile.TarInfo("usr/bin/" + name)
        link.type, link.linkname = tarfile.SYMTYPE, target
        tar.addfile(link)
    tar.dereference = True
    for path in [*programs, *("/usr" + path for path in sorted(libraries)), "/etc/os-release"]:
        tar.add(path)
    tar.add("/usr/lib/python3.11", filter=lambda one: None if left_out.search("/" + one.name) else one)
"""
"""Packs a Python that plays, without its packages: a tenth of the base image."""


def small_base_image(client: docker.DockerClient, base: str, name: str) -> str:
    """Make an image with Python alone, whose push takes seconds instead of a minute, and return its content id."""
    container = client.containers.create(base, ["-c", PACK], entrypoint="python3", network_mode="none")
    try:
        container.start()
        assert container.wait(timeout=120)["StatusCode"] == 0, container.logs()
        pieces, _ = container.get_archive("/small.tar", chunk_size=1 << 20)
        with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as outer:
            packed = outer.extractfile("small.tar")
            assert packed is not None
            files = packed.read()
    finally:
        container.remove(force=True)
    repository, _, tag = name.rpartition(":")
    client.api.import_image_from_data(files, repository=repository, tag=tag)
    return str(client.images.get(name).id)


def tiny_image(client: docker.DockerClient, folder: Path, name: str, **labels: str) -> str:
    """Make an image of a few KiB and return its content id. labels: beside the prefix, with _ for dots."""
    folder.mkdir(parents=True, exist_ok=True)
    # It cannot be compressed, so that a slow transfer takes long enough to be ended.
    (folder / "noise").write_bytes(random.Random(name).randbytes(4096))
    (folder / "player.py").write_text(f"# {name} {labels}\n")
    prefix = name.rpartition(":")[0]
    found = {"arena.prefix": prefix, **{key.replace("_", "."): value for key, value in labels.items()}}
    return commit_layer(client, scratch(client), folder_layer(folder, "player"), tag=name, labels=found)


@functools.cache
def _nothing() -> bytes:
    return bytes(10240)


def scratch(client: docker.DockerClient) -> str:
    """Return the content id of an image with an empty layer."""
    name = f"rl-arena-test-{os.getpid()}-scratch:1"
    with suppress(ImageNotFound):
        return str(client.images.get(name).id)
    repository, _, tag = name.rpartition(":")
    client.api.import_image_from_data(_nothing(), repository=repository, tag=tag)
    return str(client.images.get(name).id)
