"""The image with learning libraries: scripts that learn in it, and a player that requires what it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django.fixtures import Settings

from arena_kit.image.calls import base_image_id, engine
from arena_kit.image.inventory import inventory
from arena_kit.zips import zip_bytes
from core.models import Build, Environment, Evaluation, JobState, Submission, Validation
from core.submissions.services import agent_create
from core.tests import factories
from tests.machine import SCRIPT_IMAGE
from tests.samples import deliver_messages

pytestmark = [
    pytest.mark.docker, pytest.mark.script_image, pytest.mark.nightly, pytest.mark.django_db(transaction=True)
]  # fmt: skip
EXAMPLES = Path(__file__).resolve().parent.parent / "example_players"
LEARNER = """
import torch

NET = torch.nn.Linear(4, 2)
torch.optim.SGD(NET.parameters(), lr=0.1).zero_grad()


class Player:
    def start(self, state, valid_actions):
        with torch.inference_mode():
            return int(NET(torch.as_tensor(state)).argmax())

    def step(self, state, valid_actions, prev_reward):
        return self.start(state, valid_actions)

    def end(self, state, prev_reward): ...
"""


@pytest.fixture
def environment(settings: Settings, tmp_path: Path) -> Environment:
    """CartPole on an arena whose image of scripts, the only one, has the learning libraries."""
    with engine() as client:
        found = inventory(client, base_image_id(client, SCRIPT_IMAGE), django_settings.PLAYER_IMAGE_PREFIX)
    major, minor, *_ = map(int, found.interpreter.split("."))
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "docker", True, tmp_path
    settings.SCRIPT_BASE_IMAGES = {(major, minor): SCRIPT_IMAGE}
    # A player gets it where it has the Python of the player.
    settings.PLAYER_BASE_IMAGES = {(major, minor): django_settings.PLAYER_BASE_IMAGE}
    return factories.task(episodes=4)


def played(environment: Environment, *files: tuple[str, str]) -> tuple[Submission, Evaluation]:
    """Upload files, and do what all workers do."""
    owner = factories.user("ann")
    sent = SimpleUploadedFile(
        "archive.zip", zip_bytes((name, text.encode()) for name, text in files), content_type="application/zip"
    )
    submission = agent_create(owner=owner, environment=environment, name="learner", is_public=False, archive=sent)
    deliver_messages(drawing=False)
    build = Build.objects.get()
    assert (build.state, build.error) == (JobState.SUCCEEDED, "")
    assert build.base_image.startswith(f"{SCRIPT_IMAGE} (Python ")
    assert (build.requirements_digest, build.submission) == ("", submission), build.log
    return submission, Evaluation.objects.get()


@pytest.mark.parametrize("name", ["script_ppo", "script_a2c"])
def test_a_script_learns_with_pytorch_within_the_limits_of_scripts(name: str, environment: Environment) -> None:
    files = [(file, (EXAMPLES / name / file).read_text()) for file in ("submission.py", "requirements.txt")]
    _, evaluation = played(environment, *files)
    assert (evaluation.state, evaluation.error, evaluation.episode_count) == (JobState.SUCCEEDED, "", 20)
    assert evaluation.score is not None
    # Random play gets 22. How far it comes in its time depends on the machine.
    assert evaluation.score > 40


def test_a_player_that_requires_pytorch_installs_nothing(environment: Environment) -> None:
    _, evaluation = played(environment, ("player.py", LEARNER), ("requirements.txt", "torch\n"))
    assert Validation.objects.get().state == JobState.SUCCEEDED
    assert evaluation.state == JobState.SUCCEEDED, evaluation.error
