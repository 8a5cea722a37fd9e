"""The documented script plays Gymnasium: with the arena's own limits, in local processes and in a built image."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from arena_kit.image.docker_recipe import DockerRecipe
from arena_kit.image.packages import Network
from arena_kit.referee.script import ScriptRun, ScriptScore, run_script
from arena_kit.sandbox.base import Sandbox
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.sandbox.scripts import ScriptLaunch, ScriptLimits
from arena_kit.tests.image.archives import archive

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "participant" / "scripts.md"


def template() -> str:
    """The script that people are told to start from."""
    found = re.search(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def folder() -> Iterator[Path]:
    # Sockets have short paths, and scripts run as another user: pytest's own folders are deep and private.
    made = Path(tempfile.mkdtemp(prefix="arena-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def run(sandbox: Sandbox, image: str, environment: str) -> ScriptRun:
    name = f"arena-test-script-{os.getpid()}"
    return run_script(sandbox, ScriptLaunch(image, name, environment, ScriptLimits(), {"arena.test": "script"}))


@pytest.mark.slow
def test_the_template_scores_in_a_local_process(folder: Path) -> None:
    (folder / "files").mkdir()
    (folder / "files" / "submission.py").write_text(template())

    found = run(ProcessSandbox(folder / "c"), f"folder:{folder}/files", "CartPole-v1").verdict

    assert isinstance(found, ScriptScore), found
    assert found.episodes == 20
    assert isinstance(found.metrics, tuple)
    assert found.score == pytest.approx(sum(found.metrics) / 20)
    assert 8 < found.score < 60


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.nightly
def test_an_image_with_gymnasium_runs_the_template_within_the_limits(folder: Path) -> None:
    recipe = DockerRecipe(
        base_images=settings.PLAYER_BASE_IMAGES,
        prefix=settings.PLAYER_IMAGE_PREFIX,
        network=Network(settings.PIP_ENVIRONMENT, settings.PIP_CERTIFICATES, settings.BUILD_NETWORK),
    )
    # A script's archive needs no player; one with both is accepted, too.
    files = {"submission.py": template(), "player.py": "", "requirements.txt": "gymnasium>=1.1\n"}
    image = recipe.build(archive(files), name="script", labels={}, log=print).image
    sandbox = DockerSandbox(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=folder / "c")

    played = run(sandbox, image, "FrozenLake-v1")

    assert isinstance(played.verdict, ScriptScore), played
    assert (played.verdict.episodes, 0 <= played.verdict.score <= 1) == (20, True)
    unknown = run(sandbox, image, "NoSuchThing-v0").verdict
    assert not isinstance(unknown, ScriptScore)
    assert "NoSuchThing" in unknown.error
