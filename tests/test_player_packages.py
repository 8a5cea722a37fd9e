"""A submission's packages reach its player, and neither the supervisor nor the standard library."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from django.conf import settings

from arena_kit.environment.spec import Limits
from arena_kit.image.calls import base_image_id, engine
from arena_kit.image.docker_recipe import DockerRecipe
from arena_kit.image.installer import Installer
from arena_kit.image.labels import PREFIX_LABEL
from arena_kit.image.layer import commit_layer, folder_layer
from arena_kit.image.packages import Network
from arena_kit.sandbox.base import Launch, PlayerDidNotStart
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.sandbox.inside.player_server.site import arena_packages
from arena_kit.tests.image.archives import archive, trap_wheel

LIMITS = Limits(memory_limit_bytes=512 << 20, start_seconds=60.0)
LOOK = """
import enum, importlib, json, pathlib, sys

found = {name: str(getattr(importlib.import_module(name), "__file__", "")) for name in NAMES}
found["supervisor"] = pathlib.Path("/proc/1/cmdline").read_text().split(chr(0))[:4]
found["hash"] = sys.flags.hash_randomization
print(json.dumps(found))
raise SystemExit
"""
SHADOWS = """
FROM {base}
ENV PYTHONPATH=/opt/requirements
COPY packages /opt/requirements
COPY player /player
"""


@pytest.fixture
def sandbox() -> Iterator[DockerSandbox]:
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    yield DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=folder)
    shutil.rmtree(folder)


def look(*names: str) -> str:
    return LOOK.replace("NAMES", repr(names))


def found_in(sandbox: DockerSandbox, image: str) -> dict[str, str | list[str] | int]:
    """What a player that prints what it found and ends has found."""
    with pytest.raises(PlayerDidNotStart) as caught:
        sandbox.launch(Launch(image, f"arena-test-packages-{os.getpid()}", LIMITS, {"arena.test": "packages"}))
    lines = [line for line in caught.value.log.splitlines() if line.startswith("{")]
    assert lines, caught.value.log
    found: dict[str, str | list[str] | int] = json.loads(lines[0])
    return found


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.nightly
def test_a_player_imports_what_its_submission_requires(sandbox: DockerSandbox) -> None:
    recipe = DockerRecipe(
        base_images=settings.PLAYER_BASE_IMAGES,
        prefix=settings.PLAYER_IMAGE_PREFIX,
        network=Network(settings.PIP_ENVIRONMENT, settings.PIP_CERTIFICATES, settings.BUILD_NETWORK),
    )
    files = {"player.py": look("six"), "requirements.txt": "six==1.16.0\n"}

    image = recipe.build(archive(files), name="packages", labels={}, log=print).image

    assert found_in(sandbox, image)["six"] == "/opt/requirements/six.py"


@pytest.mark.docker
def test_packages_win_over_the_base_but_not_over_the_standard_library_or_the_supervisor(
    sandbox: DockerSandbox, tmp_path: Path
) -> None:
    trap = "raise SystemExit('the trap ran')\n"
    packages = {
        "sitecustomize.py": trap, "usercustomize.py": trap, "enum.py": trap, "socket.py": trap,
        "trap.pth": "import enum", "pip.py": "", "numpy/__init__.py": "integer = ndarray = int\n",
    }  # fmt: skip
    for name, text in packages.items():
        path = tmp_path / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "player").mkdir()
    (tmp_path / "player" / "player.py").write_text(look("pip", "numpy", "enum", "socket"))
    (tmp_path / "Dockerfile").write_text(SHADOWS.format(base=settings.PLAYER_BASE_IMAGE))
    client = docker.from_env(timeout=60)
    image = f"{settings.PLAYER_IMAGE_PREFIX}:shadows"
    client.images.build(path=str(tmp_path), tag=image, network_mode="none", rm=True)
    client.close()

    found = found_in(sandbox, image)

    assert found["pip"] == "/opt/requirements/pip.py"
    assert found["numpy"] == "/opt/requirements/numpy/__init__.py"
    assert not str(found["enum"]).startswith("/opt")
    assert not str(found["socket"]).startswith("/opt")
    assert found["supervisor"] == ["python3", "-s", "-u", "/channel/player_server/start.py"]
    assert found["hash"] == 0


@pytest.mark.docker
def test_nothing_of_an_installed_wheel_runs_when_the_player_server_starts(
    sandbox: DockerSandbox, tmp_path: Path
) -> None:
    prefix = settings.PLAYER_IMAGE_PREFIX
    labels = {PREFIX_LABEL: prefix}
    name, content = trap_wheel()
    (tmp_path / "player.py").write_text(look("socket"))
    with engine() as client:
        base = base_image_id(client, settings.PLAYER_BASE_IMAGE)
        with Installer(
            client, base, name=f"{prefix}-traps", prefix=prefix, network="none", environment={}, certificates=b""
        ) as pip:
            pip.make_folders("wheels")
            pip.put({f"wheels/{name}": content})
            assert pip.install(pip.wheels(), print)[0] == 0
            packages = commit_layer(client, base, pip.layer(), tag=f"{prefix}-requirements:traps", labels=labels)
        image = commit_layer(client, packages, folder_layer(tmp_path, "player"), tag=f"{prefix}:traps", labels=labels)
        listing = client.containers.run(image, ["ls", "/opt/requirements"], network_mode="none", remove=True)

    found = found_in(sandbox, image)

    assert {"sitecustomize.py", "trap", "trap.pth"} <= set(listing.decode().split())
    assert not str(found["socket"]).startswith("/opt")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (["/lib/python3", "/lib/python3/site-packages"], ["/lib/python3", "/new", "/lib/python3/site-packages"]),
        (["/lib", "/a/dist-packages", "/b/dist-packages"], ["/lib", "/new", "/a/dist-packages", "/b/dist-packages"]),
        (["/lib"], ["/lib", "/new"]),
    ],
)
def test_packages_stand_between_the_standard_library_and_those_of_the_image(
    monkeypatch: pytest.MonkeyPatch, path: list[str], expected: list[str]
) -> None:
    monkeypatch.setattr(sys, "path", path.copy())
    arena_packages.add("")
    assert sys.path == path

    arena_packages.add("/new")

    assert sys.path == expected
