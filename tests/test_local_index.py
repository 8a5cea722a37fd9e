"""Requirements from an index of the organisers' own: constraints, and agents written for an older library."""

from __future__ import annotations

import dataclasses
import io
import os
import shutil
import tarfile
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from itertools import count
from pathlib import Path

import docker
import pytest
from django.conf import settings
from pytest_django.fixtures import Settings

from arena_kit.environment.records import Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.image.docker_recipe import DockerRecipe
from arena_kit.image.errors import BuildFailed
from arena_kit.image.packages import Network
from arena_kit.image.recipe import BuildResult
from arena_kit.referee.play import PlayedDuel, run_duel
from arena_kit.sandbox.base import Launch
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.tests.image.archives import archive
from arena_kit.tests.playing import LIMITS
from builder.tasks import recipe
from core.models import SubmissionForm
from tests.machine import SECOND_BASE_IMAGE

PREFIX = f"arena-test-index-{os.getpid()}"
GOOD = {"player.py": "class Player:\n    def start(self, state, valid_actions): return valid_actions[0]\n"
        "    def step(self, state, valid_actions, prev_reward): return valid_actions[0]\n"
        "    def end(self, state, prev_reward): ...\n"}  # fmt: skip
OLDER_AGENT = {
    "__init__.py": "from rl_arena.core.agent import Agent\n",
    "core/__init__.py": "",
    "core/agent.py": """
from abc import ABC, abstractmethod
from typing import Any

class Agent(ABC):
    def __init__(self, player_id: int = 0):
        self.player_id = player_id

    @abstractmethod
    def act(self, observation: Any) -> Any: ...

    def reset(self) -> None: ...
""",
}
"""The modules of the package rl-arena 0.1.2 that agents import, with the same signatures."""
SUBMISSION = '''"""MyAgent - Submission for RL-Arena, as its create_submission writes it."""

from rl_arena.core.agent import Agent


class MyAgent(Agent):
    def __init__(self, player_id: int = 0):
        super().__init__(player_id)
        print("seat", self.player_id)

    def reset(self):
        self.moves = 0

    def act(self, observation):
        self.moves += 1
        return next(cell for cell in range(9) if observation[cell] == 0)


__agent_name__ = "MyAgent"


def create_agent() -> Agent:
    return MyAgent()
'''
SUBCLASS = SUBMISSION[: SUBMISSION.index("__agent_name__")]
"""Without the factory, as the older executor takes it too."""
_numbers = count()


def wheel(name: str, version: str, files: Mapping[str, str]) -> tuple[str, bytes]:
    """Return the name and content of a plain wheel of one package."""
    package, info = name.replace("-", "_"), f"{name.replace('-', '_')}-{version}.dist-info"
    content = {f"{package}/{path}": text for path, text in files.items()} | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*content, f"{info}/RECORD"))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for path, text in content.items():
            packed.writestr(path, text)
    return f"{package}-{version}-py3-none-any.whl", file.getvalue()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Index:
    """A package index in a folder, which containers reach over the engine's bridge."""

    folder: Path
    address: str

    def add(self, name: str, version: str, files: Mapping[str, str], *, to: str = "simple") -> None:
        where = self.folder / to / name
        where.mkdir(parents=True, exist_ok=True)
        file, data = wheel(name, version, files)
        (where / file).write_bytes(data)

    @property
    def host(self) -> str:
        return self.address.split("/")[2].split(":")[0]

    @property
    def network(self) -> Network:
        return Network({"PIP_INDEX_URL": f"{self.address}/simple/", "PIP_TRUSTED_HOST": self.host})


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    made = docker.from_env(timeout=60)
    yield made
    for name in (PREFIX, f"{PREFIX}-requirements"):
        for image in made.images.list(name):
            made.images.remove(image.tags[0], force=True)
    made.close()


@pytest.fixture
def index(tmp_path: Path, client: docker.DockerClient) -> Iterator[Index]:
    (place, *_) = client.networks.get("bridge").attrs["IPAM"]["Config"]
    # The engine leaves the gateway out where it is the first address of the network.
    gateway = place.get("Gateway") or str(next(ip_network(place["Subnet"]).hosts()))
    server = ThreadingHTTPServer((gateway, 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Index(tmp_path, f"http://{gateway}:{server.server_port}")
    server.shutdown()
    thread.join()
    server.server_close()


def build(index: Index | None, files: Mapping[str, str], constraints: str = "") -> BuildResult:
    path = ""
    if index is not None and constraints:
        (index.folder / "constraints.txt").write_text(constraints)
        path = str(index.folder / "constraints.txt")
    network = Network(settings.PIP_ENVIRONMENT, settings.PIP_CERTIFICATES) if index is None else index.network
    makes = DockerRecipe(base_images=settings.PLAYER_BASE_IMAGES, prefix=PREFIX, network=network, constraints=path)
    with zipfile.ZipFile(packed := io.BytesIO(), "w") as zipped:
        for name, text in files.items():
            zipped.writestr(name, text)
    return makes.build(packed, name=f"b{next(_numbers)}", labels={}, log=print)


def play(images: tuple[str, str]) -> PlayedDuel:
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    sandbox = DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=folder)
    limits = dataclasses.replace(LIMITS, start_seconds=60.0)
    try:
        return run_duel(
            get_spec("tic-tac-toe"),
            lambda number: sandbox.launch(
                Launch(images[number], f"{PREFIX}-{next(_numbers)}", limits, {"arena.test": "index"})
            ),
            names=("one", "two"),
            seed=7,
            match_count=2,
            parallel_matches=2,
            limits=limits,
            clock=time.monotonic,
        )
    finally:
        shutil.rmtree(folder)


def versions(result: BuildResult) -> str:
    return result.sbom.decode()


@pytest.mark.docker
@pytest.mark.nightly
def test_constraints_pin_versions_and_name_another_index(index: Index) -> None:
    index.add("demo", "1.0", {"__init__.py": ""})
    index.add("demo", "2.0", {"__init__.py": ""})
    index.add("demo", "2.0+cpu", {"__init__.py": ""}, to="cpu")
    demo = {"player.py": "class Player: ...\n", "requirements.txt": "demo\n"}
    assert 'pypi/demo@2.0"' in versions(build(index, demo))
    assert 'pypi/demo@1.0"' in versions(build(index, demo, "demo<2\n"))
    cpu = f"--extra-index-url {index.address}/cpu/\ndemo==2.0+cpu\n"
    assert "pypi/demo@2.0+cpu" in versions(build(index, demo, cpu)).replace("%2B", "+")
    with pytest.raises(BuildFailed, match="demo"):
        build(index, demo | {"requirements.txt": "demo==2.0\n"}, "demo<2\n")


@pytest.fixture
def larger_image(client: docker.DockerClient, tmp_path: Path) -> str:
    """A base image that has version 1.0 of the package demo, as one with learning libraries has those."""
    metadata = tmp_path / "demo-1.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
    (tmp_path / "demo.py").touch()
    packages = client.containers.run(
        settings.PLAYER_BASE_IMAGE, ["python3", "-c", "import numpy; print(numpy.__path__[0])"], remove=True
    )
    own = client.api.create_container(settings.PLAYER_BASE_IMAGE, command=["true"])["Id"]
    with tarfile.open(fileobj=(packed := io.BytesIO()), mode="w") as tar:
        tar.add(tmp_path / "demo.py", "demo.py")
        tar.add(metadata.parent, metadata.parent.name)
    client.api.put_archive(own, str(Path(packages.decode().strip()).parent), packed.getvalue())
    client.api.commit(own, PREFIX, "larger-base")
    client.api.remove_container(own)
    return f"{PREFIX}:larger-base"


def built(index: Index, lines: str, larger_image: str, python: tuple[int, int] | None = None) -> BuildResult:
    """Build a player with these requirements where a larger image stands beside the base image of this Python."""
    larger = {python or next(iter(settings.PLAYER_BASE_IMAGES)): larger_image}
    makes = DockerRecipe(
        base_images=settings.PLAYER_BASE_IMAGES, prefix=PREFIX, network=index.network, larger_images=larger
    )
    files = {"player.py": "class Player: ...\n", "requirements.txt": lines}
    return makes.build(archive(files), name=f"l{next(_numbers)}", labels={}, log=print)


def base(result: BuildResult) -> str:
    return result.base_image.partition(" (")[0]


@pytest.mark.docker
def test_a_submission_gets_the_image_that_leaves_less_to_install_and_a_script_its_own(
    index: Index, larger_image: str, settings: Settings
) -> None:
    index.add("demo", "2.0", {"__init__.py": ""})
    index.add("other", "1.0", {"__init__.py": ""})
    assert base(built(index, "", larger_image)) == settings.PLAYER_BASE_IMAGE
    whole = built(index, "demo\n", larger_image)
    assert (base(whole), whole.requirements_digest) == (larger_image, "")
    assert 'pypi/demo@1.0"' in versions(whole)
    # Only what it lacks is fetched.
    part = built(index, "demo\nother\n", larger_image)
    assert base(part) == larger_image
    assert 'pypi/other@1.0"' in versions(part)
    assert "demo@2.0" not in versions(part)

    settings.SCRIPT_BASE_IMAGES = {next(iter(settings.PLAYER_BASE_IMAGES)): larger_image}
    settings.PLAYER_IMAGE_PREFIX, settings.SANDBOX = PREFIX, "docker"
    script, player = recipe(SubmissionForm.SCRIPT), recipe(SubmissionForm.PLAYER)
    files = {"submission.py": "print(1)\n"}
    made = script.build(archive(files), name="script", labels={}, log=print, defaults=("demo",))
    assert (base(made), made.requirements_digest) == (larger_image, "")
    plain = player.build(archive({"player.py": "class Player: ...\n"}), name="player", labels={}, log=print)
    assert base(plain) == settings.PLAYER_BASE_IMAGE


@pytest.mark.docker
@pytest.mark.nightly
def test_a_submission_for_which_nothing_is_gained_gets_the_small_image(index: Index, larger_image: str) -> None:
    index.add("demo", "2.0", {"__init__.py": ""})
    for lines in ("", "numpy\n", "demo>=2\n"):
        assert base(built(index, lines, larger_image)) == settings.PLAYER_BASE_IMAGE
    # An image with another Python is not for it.
    other_python = built(index, "demo\n", larger_image, (3, 99))
    assert base(other_python) == settings.PLAYER_BASE_IMAGE
    assert 'pypi/demo@2.0"' in versions(other_python)


@pytest.mark.docker
@pytest.mark.nightly
@pytest.mark.parametrize("source", [pytest.param(SUBMISSION, id="factory"), pytest.param(SUBCLASS, id="subclass")])
def test_an_agent_of_the_older_library_plays_unchanged(index: Index, source: str) -> None:
    index.add("rl-arena", "0.1.2", OLDER_AGENT)
    made = build(index, {"agent.py": source, "requirements.txt": "rl-arena==0.1.2\n"})
    duel = play((made.digest, made.digest))
    assert [match.error_code for match in duel.record.matches] == ["", ""]
    assert {match.outcome for match in duel.record.matches} == {Outcome.PLAYER_1, Outcome.PLAYER_2}
    assert "seat 0" in duel.player_logs[0]


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.nightly
def test_an_agent_of_the_older_library_itself_plays_unchanged(client: docker.DockerClient) -> None:
    made = build(None, {"agent.py": SUBMISSION, "requirements.txt": "rl-arena==0.1.2\n"})
    assert "pypi/rl-arena@0.1.2" in versions(made)
    duel = play((made.digest, made.digest))
    assert [match.error_code for match in duel.record.matches] == ["", ""]


@pytest.mark.docker
@pytest.mark.nightly
def test_two_base_images_play_against_each_other(index: Index, client: docker.DockerClient) -> None:
    """The second base is a layer on the first, so that its image is another and its Python is not asked."""
    own = client.api.create_container(settings.PLAYER_BASE_IMAGE, command=["true"])["Id"]
    other = client.api.commit(own, PREFIX, "other-base", conf={"Labels": {"arena.test": "other-base"}})["Id"]
    client.api.remove_container(own)
    first = next(iter(settings.PLAYER_BASE_IMAGES))
    bases = {first: settings.PLAYER_BASE_IMAGE, (3, 99): f"{PREFIX}:other-base"}
    makes = DockerRecipe(base_images=bases, prefix=PREFIX, network=index.network)
    one = makes.build(archive(GOOD), name="one", labels={}, log=print)
    two = makes.build(archive({**GOOD, ".python-version": "3.99\n"}), name="two", labels={}, log=print)
    assert (two.base_digest, one.base_digest == two.base_digest) == (other, False)
    assert two.base_image.startswith(f"{PREFIX}:other-base (Python 3.")
    duel = play((one.digest, two.digest))
    assert [match.error_code for match in duel.record.matches] == ["", ""]
    (warning,) = makes.build(archive({**GOOD, ".python-version": "2.7\n"}), name="old", labels={}, log=print).warnings
    assert warning.startswith(".python-version (2.7) asks for another Python than the arena has")


@pytest.mark.docker
@pytest.mark.second_base
@pytest.mark.nightly
@pytest.mark.usefixtures("client")
def test_a_player_on_python_3_13_plays_against_one_on_the_default_base() -> None:
    bases = {**settings.PLAYER_BASE_IMAGES, (3, 13): SECOND_BASE_IMAGE}
    makes = DockerRecipe(base_images=bases, prefix=PREFIX, network=Network())
    checked = "import sys\n\nassert sys.version_info[:2] == VERSION\n"
    default = checked.replace("VERSION", str(next(iter(settings.PLAYER_BASE_IMAGES)))) + GOOD["player.py"]
    # The statement `type` came with Python 3.12.
    newer = checked.replace("VERSION", "(3, 13)") + "type Action = int\n" + GOOD["player.py"]
    conda = "dependencies: [python=3.13]\n"
    one = makes.build(archive({"player.py": default}), name="one", labels={}, log=print)
    two = makes.build(archive({"player.py": newer, "environment.yml": conda}), name="two", labels={}, log=print)
    assert two.base_image.startswith(f"{SECOND_BASE_IMAGE} (Python 3.13.")
    assert (one.warnings, two.warnings) == ((), ())
    duel = play((one.digest, two.digest))
    assert [match.error_code for match in duel.record.matches] == ["", ""]
