"""`deploy/pin-images` names the images of a compose file by digest, so that a tag that moves changes nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
import yaml

from arena_kit.image.calls import engine as connect
from arena_kit.tests.image.registries import registry_server, tiny_image
from tests.stack import compose_program

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "deploy" / "pin-images"
COMPOSE = """
services:
  plain:
    image: {there}/plain:1
    networks: [inside]
  watcher:
    image: {there}/watcher:2
    profiles: [monitoring]
  built:
    build:
      context: .
      args:
        PYTHON_IMAGE: {there}/python:3
    image: rl-arena
networks:
  inside:
"""
pytestmark = [pytest.mark.docker, pytest.mark.registry]


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    with connect() as made:
        yield made


def pinned(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM], cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def pushed(client: docker.DockerClient, folder: Path, name: str, **labels: str) -> str:
    """Push an image, and return its digest in the registry."""
    tiny_image(client, folder, name, **labels)
    client.images.push(*name.rsplit(":", 1))
    digests: list[str] = client.images.get(name).attrs["RepoDigests"]
    client.images.remove(name, force=True)
    return next(digest for digest in digests if digest.startswith(name.rpartition(":")[0]))


def test_each_image_of_a_registry_is_named_by_its_digest_until_it_is_pinned_again(
    client: docker.DockerClient, tmp_path: Path
) -> None:
    with registry_server(tmp_path / "registry", is_open=True) as server:
        there = f"127.0.0.1:{server.port}"
        names = [f"{there}/plain:1", f"{there}/watcher:2", f"{there}/python:3"]
        plain, watcher, python = (pushed(client, tmp_path / str(number), name) for number, name in enumerate(names))
        (tmp_path / "docker-compose.yml").write_text(COMPOSE.format(there=there))
        try:
            found = pinned(tmp_path)
            assert found.returncode == 0, found.stderr
            written = tmp_path / "docker-compose.digests.yml"
            services = yaml.safe_load(written.read_text())["services"]
            assert services == {
                "built": {"build": {"args": {"PYTHON_IMAGE": python}}},
                "plain": {"image": plain},
                "watcher": {"image": watcher},
            }
            # The tag moves, and what compose starts does not.
            moved = pushed(client, tmp_path / "moved", names[0], version="2")
            assert moved != plain
            files = ["-f", "docker-compose.yml", "-f", written.name]
            config = subprocess.run(
                [*compose_program(), *files, "config"], cwd=tmp_path, capture_output=True, text=True, check=True
            ).stdout
            assert yaml.safe_load(config)["services"]["plain"]["image"] == plain
            # Without the registry nothing is written anew.
            before = written.read_text()
            server.kill()
            failed = pinned(tmp_path)
            assert failed.returncode == 1
            assert "cannot be pulled; docker-compose.digests.yml stays as it is." in failed.stderr
            assert written.read_text() == before
            server.start()
            assert pinned(tmp_path).returncode == 0
            assert yaml.safe_load(written.read_text())["services"]["plain"]["image"] == moved
        finally:
            for image in client.images.list():
                if any(one.startswith(there) for one in (*image.tags, *image.attrs["RepoDigests"])):
                    client.images.remove(str(image.id), force=True)
