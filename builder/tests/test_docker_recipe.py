"""Images on a real engine: what is in them, what is not, and what happens when the engine is not there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import docker
import pytest
from django.conf import settings

from builder.engine import ensure_base_image
from builder.errors import BuilderUnavailable, BuildFailed
from builder.packages import Network
from builder.recipe import BuildResult, DockerRecipe
from builder.tests.archives import PLAYER, archive

PREFIX = f"rl-arena-test-builder-{os.getpid()}"
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
    return DockerRecipe(
        base_image=base_image or settings.PLAYER_BASE_IMAGE,
        prefix=PREFIX,
        network=Network({**settings.PIP_ENVIRONMENT, "ARENA_TEST": SECRET}, settings.PIP_CERTIFICATES),
    )


def build(files: dict[str, str], log: list[str] | None = None) -> BuildResult:
    lines: list[str] = [] if log is None else log
    return recipe().build(archive(files), name="s1-b2", labels={"arena.submission": "1"}, log=lines.append)


def run(engine: docker.DockerClient, image: str, code: str) -> str:
    output: bytes = engine.containers.run(image, ["python3", "-c", code], network_mode="none", remove=True)
    return output.decode().strip()


@pytest.mark.docker
def test_an_image_holds_the_files_of_the_submission_and_its_labels(engine: docker.DockerClient) -> None:
    log: list[str] = []

    result = build({"net/weights.txt": "1"}, log)

    image = engine.images.get(result.image)
    assert (result.image, result.digest, result.warnings) == (f"{PREFIX}:s1-b2", image.id, ())
    assert image.labels["arena.submission"] == "1"
    assert run(engine, result.digest, LIST) == f"['net', 'player.py'] {PLAYER.strip()}"
    assert [line for line in log if line.startswith("Step")] == [
        "Step 1/4: check and unpack the archive",
        f"Step 2/4: base image {settings.PLAYER_BASE_IMAGE}",
        "Step 3/4: requirements (none)",
        "Step 4/4: image of the submission",
    ]


@pytest.mark.docker
def test_a_smuggled_dockerfile_and_dockerignore_have_no_effect(engine: docker.DockerClient) -> None:
    result = build({"Dockerfile": "FROM scratch\nRUN evil", ".dockerignore": "*\n**/player.py", "x": ""})

    assert run(engine, result.image, LIST) == f"['.dockerignore', 'Dockerfile', 'player.py', 'x'] {PLAYER.strip()}"


@pytest.mark.docker
def test_nothing_of_the_submission_runs_while_building(engine: docker.DockerClient) -> None:
    trap = "raise SystemExit('ran')"
    log: list[str] = []

    result = build({"setup.py": trap, "sitecustomize.py": trap, "conftest.py": trap, "numpy.py": trap}, log)

    assert "ran" not in " ".join(log)
    assert engine.images.get(result.image).attrs["Config"].get("OnBuild") in (None, [])


@pytest.mark.docker
def test_removing_an_image_twice_is_no_error(engine: docker.DockerClient) -> None:
    image = build({}).image

    recipe().remove(image)
    recipe().remove(image)

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
def test_requirements_are_installed_once_and_shared(engine: docker.DockerClient) -> None:
    files = {"requirements.txt": "six==1.16.0\n"}
    first: list[str] = []
    second: list[str] = []

    build(files, first)
    result = build(files, second)

    assert any("Successfully installed six-1.16.0" in line for line in first)
    assert "These requirements have been installed before; their image is reused." in second
    assert run(engine, result.image, "import sys; sys.path.append('/opt/requirements'); import six") == ""
    assert len(engine.images.list(f"{PREFIX}-requirements")) == 1


@pytest.mark.docker
@pytest.mark.network
def test_neither_the_way_to_the_index_nor_leftovers_of_pip_are_in_the_image(engine: docker.DockerClient) -> None:
    result = build({"requirements.txt": "six==1.16.0\n"})

    image = engine.images.get(result.image)
    assert SECRET not in json.dumps(image.attrs)
    assert "PIP_" not in json.dumps(image.attrs["Config"]["Env"])
    assert run(engine, result.image, "import os; print(os.listdir('/opt/arena-work'))") == "[]"


@pytest.mark.docker
@pytest.mark.network
def test_an_old_pin_falls_back_to_the_base_image_with_a_warning_that_stays(engine: docker.DockerClient) -> None:
    files = {"environment.yml": "dependencies: [python=3.6, numpy=1.16.4, {pip: [six==1.16.0]}]"}
    version = run(engine, settings.PLAYER_BASE_IMAGE, "import numpy; print(numpy.__version__)")

    for _ in range(2):
        ignored, warning = build(files).warnings
        assert ignored.startswith("python=3.6 in environment.yml is ignored")
        assert warning == (
            "numpy==1.16.4.* has no wheel for the Python of the base image; "
            f"version {version} of the base image is used."
        )


@pytest.mark.docker
@pytest.mark.network
def test_a_package_without_wheels_fails_the_build_in_its_first_line(engine: docker.DockerClient) -> None:
    with pytest.raises(BuildFailed) as caught:
        build({"requirements.txt": "six==0.0.1\n"})

    assert str(caught.value).startswith("There is no wheel for six==0.0.1 and the Python of the base image.")
    assert engine.containers.list(all=True, filters={"label": "arena.packages"}) == []
