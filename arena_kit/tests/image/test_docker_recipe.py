"""Images on a real engine: what they hold, what they do not hold, and what happens without an engine."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import docker
import pytest
from django.conf import settings

from arena_kit.image.calls import ensure_base_image
from arena_kit.image.docker_recipe import DockerRecipe
from arena_kit.image.errors import BuilderUnavailable, BuildFailed
from arena_kit.image.packages import Network
from arena_kit.image.recipe import BuildResult
from arena_kit.tests.image.archives import PLAYER, archive

PREFIX = f"rl-arena-test-builder-{os.getpid()}"
SIX_SHA256 = "8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254"
SECRET = "secret-of-the-index"
LIST = "import os; print(sorted(os.listdir('/player')), open('/player/player.py').read().strip())"


@pytest.fixture
def engine() -> Iterator[docker.DockerClient]:
    client = docker.from_env(timeout=60)
    yield client
    for name in (PREFIX, f"{PREFIX}-requirements"):
        for image in client.images.list(name):
            client.images.remove(image.tags[0], force=True)
    client.close()


def recipe(base_image: str = "") -> DockerRecipe:
    version = next(iter(settings.PLAYER_BASE_IMAGES))
    return DockerRecipe(
        base_images={version: base_image or settings.PLAYER_BASE_IMAGE},
        prefix=PREFIX,
        network=Network(
            {**settings.PIP_ENVIRONMENT, "ARENA_TEST": SECRET}, settings.PIP_CERTIFICATES, settings.BUILD_NETWORK
        ),
    )


def build(files: dict[str, str], log: list[str] | None = None) -> BuildResult:
    lines: list[str] = [] if log is None else log
    return recipe().build(archive(files), name="s1-b2", labels={"arena.submission": "1"}, log=lines.append)


def run(engine: docker.DockerClient, image: str, code: str) -> str:
    output: bytes = engine.containers.run(image, ["python3", "-c", code], network_disabled=True, remove=True)
    return output.decode().strip()


LEFT_OUT = ("Hidden files, files of other programs and venv are left out: .dockerignore.",)


@pytest.mark.docker
def test_an_image_holds_the_files_of_the_submission_and_its_labels_and_none_of_them_has_run(
    engine: docker.DockerClient,
) -> None:
    trap = "raise SystemExit('ran')"
    smuggled = {"Dockerfile": "FROM scratch\nRUN evil", ".dockerignore": "*\n**/player.py"}
    traps = dict.fromkeys(("setup.py", "sitecustomize.py", "conftest.py", "numpy.py"), trap)
    log: list[str] = []

    result = build({"net/weights.txt": "1", **smuggled, **traps}, log)

    image = engine.images.get(result.image)
    assert (result.image, result.digest, result.warnings) == (f"{PREFIX}:s1-b2", image.id, LEFT_OUT)
    assert image.labels["arena.submission"] == "1"
    assert image.attrs["Config"].get("OnBuild") in (None, [])
    names = sorted(["net", "player.py", "Dockerfile", *traps])
    assert run(engine, result.digest, LIST) == f"{names} {PLAYER.strip()}"
    assert recipe().missing(dict.fromkeys((result.image, result.digest, "sha256:0"), "")) == {"sha256:0"}
    assert log[-1].startswith(f"Built {PREFIX}:s1-b2 in ")
    assert log[:-1] == [
        "Step 1/4: check and unpack the archive",
        f"Note: {LEFT_OUT[0]}",
        f"Step 2/4: base image {settings.PLAYER_BASE_IMAGE}",
        "Step 3/4: requirements (none)",
        "Step 4/4: image of the submission",
    ]

    recipe().remove(result.image)
    # To remove an image twice is not an error.
    recipe().remove(result.image)

    assert engine.images.list(PREFIX) == []


@pytest.mark.docker
def test_a_missing_base_image_is_the_platforms_trouble() -> None:
    with pytest.raises(BuilderUnavailable, match="make-base-image") as caught:
        recipe("rl-arena-no-such-base").build(archive(), name="s1", labels={}, log=print)

    assert caught.value.code == "base_image_missing"


@pytest.mark.docker
def test_the_base_image_is_there_once_it_was_ensured(engine: docker.DockerClient) -> None:
    assert ensure_base_image(settings.PLAYER_BASE_IMAGE) == engine.images.get(settings.PLAYER_BASE_IMAGE).id


def test_an_engine_that_does_not_answer_is_the_platforms_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")

    for call in (
        lambda: recipe().build(archive(), name="s1", labels={}, log=print),
        lambda: recipe().remove("x"),
        lambda: ensure_base_image("x"),
    ):
        with pytest.raises(BuilderUnavailable, match="No Docker engine answers") as caught:
            call()
        assert caught.value.code == "engine_unavailable"


@pytest.mark.docker
@pytest.mark.network
def test_requirements_are_installed_once_shared_and_named_in_the_bill_of_materials(engine: docker.DockerClient) -> None:
    files = {"requirements.txt": "six==1.16.0\n"}
    first: list[str] = []
    second: list[str] = []

    build(files, first)
    result = build(files, second)

    assert any("Successfully installed six-1.16.0" in line for line in first)
    assert "These requirements have been installed before; their image is reused." in second
    code = (
        "import sys; sys.path.append('/opt/requirements'); import numpy, six; print(numpy.__version__, six.__version__)"
    )
    numpy, six = run(engine, result.image, code).split()
    assert six == "1.16.0"
    assert len(engine.images.list(f"{PREFIX}-requirements")) == 1
    document = json.loads(result.sbom)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    assert document["metadata"]["component"]["version"] == result.digest
    found = {component["bom-ref"]: component for component in document["components"]}
    assert f"image:{result.base_digest}" in found
    assert found["requirements:pkg:pypi/six@1.16.0"]["hashes"] == [{"alg": "SHA-256", "content": SIX_SHA256}]
    assert f"base:pkg:pypi/numpy@{numpy}" in found
    assert len(found["archive"]["hashes"][0]["content"]) == 64
    assert len(found) == len(document["components"])


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.nightly
def test_neither_the_way_to_the_index_nor_leftovers_of_pip_are_in_the_image(engine: docker.DockerClient) -> None:
    result = build({"requirements.txt": "six==1.16.0\n"})

    image = engine.images.get(result.image)
    assert SECRET not in json.dumps(image.attrs)
    assert "PIP_" not in json.dumps(image.attrs["Config"]["Env"])
    assert run(engine, result.image, "import os; print(os.listdir('/opt'))") == "['requirements']"


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.nightly
def test_an_old_pin_falls_back_to_the_base_image_with_a_warning_that_stays(engine: docker.DockerClient) -> None:
    files = {"environment.yml": "dependencies: [python=3.6, numpy=1.16.4, {pip: [six==1.16.0]}]"}
    version = run(engine, settings.PLAYER_BASE_IMAGE, "import numpy; print(numpy.__version__)")

    for _ in range(2):
        ignored, warning = build(files).warnings
        assert ignored.startswith("environment.yml (python=3.6) asks for another Python than the arena has")
        assert warning == (
            "numpy==1.16.4.* has no wheel for the Python of the base image; "
            f"version {version}, which is there, is used."
        )


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.parametrize(
    ("requirements", "code", "sentence"),
    [
        pytest.param(
            "six==0.0.1",
            "no_wheel",
            r"six==0\.0\.1: no version of six fits; the newest here is 1\.\d+\.\d+\. Ask for .*",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "numpy==9.9",
            "no_wheel",
            r"numpy==9\.9: no version of numpy fits; the newest here is 2\.\d+\.\d+\. .*",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "gym==0.26.2",
            "no_wheel",
            r"gym==0\.26\.2: gym has no wheels\. Write gymnasium instead\.",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "six==1.15.0\nsix==1.16.0",
            "requirements_conflict",
            r"These requirements exclude each other: six==1\.15\.0; six==1\.16\.0\. Widen or drop one of them\.",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_failed_build_says_in_one_line_what_to_change(requirements: str, code: str, sentence: str) -> None:
    with pytest.raises(BuildFailed) as caught:
        build({"requirements.txt": requirements})

    assert caught.value.code == code
    assert re.fullmatch(sentence, str(caught.value))


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.nightly
def test_two_workers_that_build_the_same_set_at_once_install_it_once(engine: docker.DockerClient) -> None:
    logs: list[list[str]] = [[], []]

    def worker(number: int) -> BuildResult:
        return recipe().build(
            archive({"requirements.txt": "six==1.15.0"}), name=f"w{number}", labels={}, log=logs[number].append
        )

    with ThreadPoolExecutor(2) as workers:
        first, second = workers.map(worker, range(2))

    assert first.requirements_digest == second.requirements_digest
    said = sorted(logs, key=lambda log: "Another build installs the same requirements; waiting for it." in log)
    assert [any("Successfully installed" in line for line in log) for log in said] == [True, False]
    assert "These requirements have been installed before; their image is reused." in said[1]


@pytest.mark.docker
def test_what_the_base_image_has_is_not_installed_again() -> None:
    log: list[str] = []

    result = build({"requirements.txt": "numpy>=1.20"}, log)

    assert "The base image has all of them; nothing is installed." in log
    assert result.requirements_digest == ""
