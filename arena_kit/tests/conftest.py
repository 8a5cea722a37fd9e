"""The sandboxes that the contract tests run on."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from arena_kit.sandbox.base import Sandbox
from arena_kit.sandbox.confinement import namespace_command
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.tests.arenas import Arena
from arena_kit.tests.playing import stages
from arena_kit.tests.scripts import Scripts


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave the container of a test marked `containers_nightly` to the night; a push runs its local process."""
    if item.get_closest_marker("containers_nightly") and item.get_closest_marker("docker"):
        item.add_marker(pytest.mark.nightly)


@pytest.fixture(scope="session", autouse=True)
def no_stage_outlasts_the_tests() -> Iterator[None]:
    yield
    if stages.cache_info().currsize:
        stages().close()


@pytest.fixture(params=["process", pytest.param("docker", marks=pytest.mark.docker)])
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    # Paths of sockets must be short, and containers run as another user, but pytest's own folders are deep and private.
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    folder.chmod(0o755)
    channels = folder / "c"
    sandbox: Sandbox = (
        ProcessSandbox(channels)
        if request.param == "process"
        else DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=channels)
    )
    channels.mkdir(mode=0o711)
    yield Arena(sandbox, folder, channels)
    shutil.rmtree(folder)


@pytest.fixture
def namespaces(arena: Arena) -> None:
    """Skip a test where local processes have no namespaces on this machine, and so fewer protections."""
    if arena.sandbox.name == "process" and not namespace_command():
        pytest.skip("this machine allows no namespaces")


@pytest.fixture
def scripts(arena: Arena) -> Scripts:
    return Scripts(arena)


@pytest.fixture
def docker_arena() -> Iterator[Arena]:
    """An arena with the containers of an engine, for tests that only these can pass."""
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    folder.chmod(0o755)
    channels = folder / "c"
    channels.mkdir(mode=0o711)
    yield Arena(DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=channels), folder, channels)
    shutil.rmtree(folder)
