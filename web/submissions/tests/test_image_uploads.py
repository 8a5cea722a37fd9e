"""Container images instead of files: by the form, by the API, and only where the operator takes them."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django.fixtures import Settings

from arena_kit.upload.image_reference import read_reference
from arena_kit.upload.packing import pack_image
from arena_kit.upload.zip_safety import ArchiveRefused
from core.errors import Refused
from core.models import Agent, Environment, Submission, SubmissionForm
from core.submissions.services import agent_create
from core.tests.factories import Cast
from tests.samples import FIRST
from web.conftest import As
from web.submissions.tests.test_uploads import ADDRESS, errors, form

pytestmark = pytest.mark.django_db
DIGEST = f"sha256:{'a' * 64}"
IMAGE = f"registry.example.org/me/player@{DIGEST}"
API = "/api/v1/agents/"


@pytest.fixture(autouse=True)
def taken(settings: Settings) -> None:
    settings.IMAGE_REGISTRIES = ["registry.example.org/me"]


def test_a_form_takes_the_name_of_an_image_instead_of_a_file(
    cast: Cast, environment: Environment, visit: As, settings: Settings
) -> None:
    client = visit(cast.alice)
    assert "Or a container image" in client.get("/environments/tic-tac-toe/write/").content.decode()
    assert client.post(ADDRESS, {"name": "boxed", "image": f" {IMAGE} "}).status_code == 302
    made = Submission.objects.get()
    assert (made.form, made.archive_sha256 != "") == (SubmissionForm.IMAGE, True)
    both = client.post(ADDRESS, form("both", image=IMAGE))
    assert errors(both)["archive"] == ["Send either files or an image."]
    assert errors(client.post(ADDRESS, {"name": "none"}))["archive"] == ["Choose a file."]
    elsewhere = client.post(ADDRESS, {"name": "far", "image": "elsewhere.example/me/player:v1"})
    assert "is in no registry that this arena takes images from" in errors(elsewhere)["archive"][0]
    assert client.post(ADDRESS, form("plain")).status_code == 302
    settings.IMAGE_REGISTRIES = []
    assert "Or a container image" not in client.get("/environments/tic-tac-toe/write/").content.decode()
    assert errors(client.post(ADDRESS, {"name": "off", "image": IMAGE}))["archive"] == ["Choose a file."]


def test_the_api_takes_an_image_and_the_same_one_again_is_the_same_version(
    cast: Cast, environment: Environment, visit: As
) -> None:
    client = visit(cast.alice)
    fields = {"name": "boxed", "environment": "tic-tac-toe", "image": IMAGE}
    first, second = (client.post(API, fields).json() for _ in range(2))
    assert first["id"] == second["id"]
    assert Submission.objects.get().form == SubmissionForm.IMAGE
    answer = client.post(API, {**fields, "name": "both", "archive": form()["archive"]})
    assert (answer.status_code, list(answer.json())) == (400, ["archive"])
    assert Agent.objects.count() == 1


@pytest.mark.parametrize(
    ("image", "code"),
    [
        ("elsewhere.example/me/player:v1", "image_registry_not_taken"),
        ("registry.example.org/melissa/player:v1", "image_registry_not_taken"),
        (f"registry.example.org/me/../other@{DIGEST}", "bad_image_name"),
        ("registry.example.org/me/player", "bad_image_name"),
        ("player:v1", "bad_image_name"),
        (f"{IMAGE}\n{IMAGE}", "bad_image_name"),
        ("registry.example.org/me/" + "x" * 300 + ":v1", "bad_image_name"),
        ("https://registry.example.org/me/player:v1", "bad_image_name"),
    ],
)
def test_names_of_other_images_are_refused(cast: Cast, environment: Environment, image: str, code: str) -> None:
    assert refusal(cast, environment, image) == code


def test_strangers_and_arenas_that_take_none_refuse_every_image(
    cast: Cast, environment: Environment, settings: Settings
) -> None:
    assert refusal(cast, environment, IMAGE, address_digest="d" * 32) == "needs_account"
    settings.IMAGE_REGISTRIES = []
    assert refusal(cast, environment, IMAGE) == "image_not_taken"


def test_a_zip_with_a_player_and_a_file_of_that_name_stays_a_player(cast: Cast, environment: Environment) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("player.py", FIRST)
        packed.writestr("image.txt", "notes")
    archive = SimpleUploadedFile("a.zip", file.getvalue())
    made = agent_create(owner=cast.alice, environment=environment, name="a", is_public=False, archive=archive)
    assert made.form == SubmissionForm.PLAYER


def test_a_name_has_a_tag_or_a_digest_and_reads_as_it_is_written() -> None:
    both = read_reference(f"localhost/a/b:v1@{DIGEST}\n")
    assert (both.repository, both.tag, both.digest, str(both)) == (
        "localhost/a/b",
        "v1",
        DIGEST,
        f"localhost/a/b@{DIGEST}",
    )
    assert str(read_reference("ghcr.io/a/b:v1")) == "ghcr.io/a/b:v1"
    with pytest.raises(ArchiveRefused):
        read_reference("")


def refusal(cast: Cast, environment: Environment, image: str, **fields: Any) -> str:
    with pack_image(image) as packed:
        archive = SimpleUploadedFile("archive.zip", packed.read())
    with pytest.raises(Refused) as refused:
        agent_create(owner=cast.alice, environment=environment, name="a", is_public=False, archive=archive, **fields)
    assert not Agent.objects.exists()
    return refused.value.code
