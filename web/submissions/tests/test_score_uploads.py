"""Uploads to environments that are ranked by score: single files, several, or a zip, with their labels."""

from __future__ import annotations

import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.fixtures import Settings

from core.models import Agent, Environment, Submission, SubmissionForm
from core.tests.factories import Cast
from tests.samples import FIRST, zip_of
from tests.worlds import Fresh
from web.conftest import As
from web.tests import scored

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ADDRESS = "/environments/cart-pole/agents/"
SCRIPT = "print('{\"score\": 1}')\n"


@pytest.fixture(scope="module")
def shared_task(module_db: object) -> Environment:
    return scored.environment()


@pytest.fixture
def task(shared_task: Environment, fresh: Fresh) -> Environment:
    return fresh(shared_task)


def form(*files: tuple[str, str | bytes], **fields: str) -> dict[str, Any]:
    sent = [
        SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content) for name, content in files
    ]
    return {"name": "newcomer", "archive": sent, **fields}


def upload(client: Client, *files: tuple[str, str | bytes], **fields: str) -> Any:
    return client.post(ADDRESS, form(*files, **fields))


def errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 422
    found: dict[str, list[str]] = response.context["form"].errors
    return found


def names_in(submission: Submission) -> list[str]:
    with submission.archive.open() as file, zipfile.ZipFile(file) as archive:
        return sorted(archive.namelist())


def test_a_single_player_is_packed_and_labelled(cast: Cast, task: Environment, visit: As) -> None:
    response = upload(visit(cast.alice), ("C:\\agents\\player.py", FIRST), algorithm=" Q-learning ")
    assert response["Location"] == ADDRESS + "newcomer/"
    submission = Submission.objects.get()
    assert (submission.form, submission.algorithm) == (SubmissionForm.PLAYER, "Q-learning")
    assert names_in(submission) == ["player.py"]


def test_several_files_with_a_player_need_no_main_file(cast: Cast, task: Environment, visit: As) -> None:
    upload(visit(cast.alice), ("model.py", "SIZE = 3\n"), ("player.py", FIRST), ("weights.bin", b"\x00\x01"))
    assert names_in(Submission.objects.get()) == ["model.py", "player.py", "weights.bin"]


def test_the_main_file_of_several_becomes_the_script(cast: Cast, task: Environment, visit: As) -> None:
    upload(visit(cast.alice), ("train.py", SCRIPT), ("model.py", "SIZE = 3\n"), main_file="train.py")
    submission = Submission.objects.get()
    assert submission.form == SubmissionForm.SCRIPT
    assert names_in(submission) == ["model.py", "submission.py"]


def test_a_zip_is_taken_as_it_is(cast: Cast, task: Environment, visit: As) -> None:
    upload(visit(cast.alice), ("mine.zip", zip_of(FIRST)))
    assert Submission.objects.get().form == SubmissionForm.PLAYER


@pytest.mark.parametrize(
    ("files", "fields", "where", "sentence"),
    [
        ([], {}, "archive", "Choose a file."),
        ([("a.py", "")], {}, "archive", "A file is empty."),
        ([("a.zip", zip_of(FIRST)), ("b.py", SCRIPT)], {}, "archive", "Choose one zip or single files"),
        ([("weights.bin", b"1")], {}, "archive", "At least one Python (.py) file is needed"),
        ([("a.py", SCRIPT), ("b.py", SCRIPT)], {}, "main_file", "Say which of a.py, b.py is the main file."),
        ([("a.py", SCRIPT)], {"main_file": "c.py"}, "main_file", "The main file must be one of a.py."),
        ([("x/a.py", SCRIPT), ("y/a.py", SCRIPT)], {}, "archive", "Two of the files"),
        ([("player.py", "class Player(:")], {}, "archive", "player.py does not compile"),
        ([("player.py", FIRST)], {"algorithm": "x" * 101}, "algorithm", "at most 100 characters"),
    ],
)
def test_what_cannot_be_taken_is_refused_at_its_field(
    cast: Cast,
    task: Environment,
    visit: As,
    files: list[tuple[str, str | bytes]],
    fields: dict[str, str],
    where: str,
    sentence: str,
) -> None:
    found = errors(upload(visit(cast.alice), *files, **fields))
    assert sentence in found[where][0]
    assert not Agent.objects.exists()


def test_a_script_is_refused_where_none_are_taken(cast: Cast, task: Environment, visit: As) -> None:
    Environment.objects.update(takes_scripts=False)
    assert "accepts no scripts" in errors(upload(visit(cast.alice), ("a.py", SCRIPT)))["archive"][0]


def test_a_script_is_refused_at_the_upload_where_players_run_on_a_cluster(
    cast: Cast, task: Environment, visit: As, settings: Settings
) -> None:
    page = f"/environments/{task.slug}/write/"
    assert "Or upload a script" in visit(cast.alice).get(page, follow=True).content.decode()
    settings.SANDBOX = "kubernetes"
    found = errors(upload(visit(cast.alice), ("a.py", SCRIPT)))["archive"][0]
    assert found.endswith("accepts no scripts: the zip needs player.py at its root, not submission.py.")
    assert "upload a script" not in visit(cast.alice).get(page, follow=True).content.decode()
    upload(visit(cast.alice), ("player.py", FIRST))
    assert Submission.objects.get().form == SubmissionForm.PLAYER


def test_files_together_may_not_be_too_large(cast: Cast, task: Environment, visit: As, settings: Settings) -> None:
    settings.MAX_UPLOAD_BYTES = 2**20
    files = [(f"part{number}.bin", bytes(2**19)) for number in range(3)]
    found = errors(upload(visit(cast.alice), ("player.py", FIRST), *files))
    assert found["archive"] == ["The file is larger than 1 MiB."]


def test_a_new_version_is_packed_and_labelled_too(cast: Cast, task: Environment, visit: As) -> None:
    agent = scored.submission(cast.alice, task, "mine").agent
    data = {"archive": SimpleUploadedFile("player.py", FIRST.encode()), "algorithm": "DQN"}
    response = visit(cast.alice).post(f"{ADDRESS}mine/versions/", data)
    assert response["Location"] == f"{ADDRESS}mine/"
    newest = agent.submissions.order_by("-number").first()
    assert newest is not None
    assert (newest.number, newest.algorithm) == (2, "DQN")


def test_algorithms_are_shown_escaped(cast: Cast, task: Environment, visit: As) -> None:
    upload(visit(cast.alice), ("player.py", FIRST), algorithm="<script>alert(1)</script>")
    page = visit(cast.alice).get(f"{ADDRESS}newcomer/").content.decode()
    assert "<script>alert" not in page
    assert "Learned by" in page
