from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings

from core.models import Agent, Build, Environment, JobFault, JobState, Submission
from core.tests import factories
from core.tests.factories import Cast
from tests.samples import FIRST, LAST, archive, zip_of
from web.conftest import As
from web.site.uploads import BoundedUploadHandler

pytestmark = pytest.mark.django_db
ADDRESS = "/environments/tic-tac-toe/agents/"
TAKEN = "Another agent with this name already exists. Please try a different one."
TAKEN_BY_ONESELF = "You have an agent of this name: upload a new version of it, or give the new agent another name."


def form(name: str = "newcomer", content: bytes = b"", **fields: Any) -> dict[str, Any]:
    file = SimpleUploadedFile("C:\\agents\\my player.zip", content or zip_of(FIRST), content_type="application/zip")
    return {"name": name, "archive": file, **fields}


def errors(response: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = response.context["form"].errors
    return found


def test_an_upload_makes_an_agent_with_a_waiting_build(cast: Cast, environment: Environment, visit: As) -> None:
    response = visit(cast.alice).post(ADDRESS, form(is_public="on"))
    assert (response.status_code, response["Location"]) == (302, ADDRESS + "newcomer/")
    agent = Agent.objects.get()
    assert (agent.owner, agent.name, agent.is_public) == (cast.alice, "newcomer", True)
    build = agent.submissions.get().latest_build
    assert build is not None
    assert build.state == JobState.QUEUED


def test_an_agent_is_private_unless_one_says_otherwise(cast: Cast, environment: Environment, visit: As) -> None:
    visit(cast.alice).post(ADDRESS, form())
    assert Agent.objects.get().is_public is False


def test_one_has_to_be_logged_in(client: Client, environment: Environment) -> None:
    response = client.post(ADDRESS, form())
    assert response["Location"] == f"/login/?next={ADDRESS}"
    assert not Agent.objects.exists()


def test_who_had_to_log_in_first_comes_back_to_the_form(cast: Cast, environment: Environment, visit: As) -> None:
    factories.agent(cast.alice, environment, "mine")
    client = visit(cast.alice)
    for address, page in (
        (ADDRESS, "/environments/tic-tac-toe/write/"),
        (f"{ADDRESS}mine/versions/", f"{ADDRESS}mine/"),
    ):
        response = client.get(address)
        assert (response.status_code, response["Location"]) == (302, page)


def test_a_form_from_another_site_is_refused_with_a_sentence(cast: Cast, environment: Environment) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.alice)
    response = client.post(ADDRESS, form())
    assert response.status_code == 403
    assert "Please send the form again" in response.content.decode()
    assert not Agent.objects.exists()


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "../x", "-a", "a-", "a.b", "é", "<b>x</b>", "a" * 51, "a\u202eb", "a/b", "x" * 5000]
)
def test_a_name_that_is_no_name_is_refused(cast: Cast, environment: Environment, visit: As, name: str) -> None:
    response = visit(cast.alice).post(ADDRESS, form(name))
    assert response.status_code == 422
    assert list(errors(response)) == ["name"]
    assert "<b>x</b>" not in response.content.decode()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"not a zip", "This is not a zip file."),
        (zip_of(FIRST)[:40], "The zip file is damaged."),
        (zip_of("class Player(:"), "player.py does not compile"),
    ],
)
def test_an_archive_that_cannot_be_taken_is_refused_at_its_field(
    cast: Cast, environment: Environment, visit: As, content: bytes, sentence: str
) -> None:
    response = visit(cast.alice).post(ADDRESS, form(content=content))
    assert response.status_code == 422
    (said,) = errors(response)["archive"]
    assert said.startswith(sentence)
    assert not Agent.objects.exists()


def test_a_missing_or_empty_file_is_refused(cast: Cast, environment: Environment, visit: As) -> None:
    client = visit(cast.alice)
    assert errors(client.post(ADDRESS, {"name": "x"}))["archive"] == ["Choose a file."]
    empty = {"name": "x", "archive": SimpleUploadedFile("a.zip", b"")}
    assert errors(client.post(ADDRESS, empty))["archive"] == ["A file is empty."]


def test_a_refused_form_keeps_the_name_that_was_typed(cast: Cast, environment: Environment, visit: As) -> None:
    page = visit(cast.alice).post(ADDRESS, form("my-agent", b"not a zip")).content.decode()
    assert 'value="my-agent"' in page


def test_a_file_that_is_too_large_is_refused_with_the_limit_and_never_kept(
    cast: Cast, environment: Environment, visit: As, settings: Settings, tmp_path: Path
) -> None:
    settings.MAX_UPLOAD_BYTES, settings.FILE_UPLOAD_TEMP_DIR = 2**20, tmp_path
    response = visit(cast.alice).post(ADDRESS, form(content=os.urandom(3 * 2**20)))
    assert response.status_code == 422
    assert errors(response)["archive"] == ["The file is larger than 1 MiB."]
    assert list(tmp_path.iterdir()) == []


def test_many_small_files_do_not_add_up_to_a_large_upload(
    cast: Cast, environment: Environment, visit: As, settings: Settings
) -> None:
    settings.MAX_UPLOAD_BYTES = 2**20
    more = {f"file{number}": SimpleUploadedFile("x", os.urandom(2**19)) for number in range(4)}
    response = visit(cast.alice).post(ADDRESS, {**more, **form()})
    assert errors(response)["archive"] == ["The file is larger than 1 MiB."]


def test_files_of_people_who_are_not_logged_in_are_not_kept(rf: RequestFactory, settings: Settings) -> None:
    request = rf.post("/login/")
    request.user = AnonymousUser()
    handler = BoundedUploadHandler(request)
    handler.new_file("archive", "a.zip", "application/zip", 4)
    handler.receive_data_chunk(b"data", 0)
    file = handler.file_complete(4)
    assert file is not None
    assert file.read() == b""
    assert (file.size or 0) > settings.MAX_UPLOAD_BYTES


def test_the_same_form_sent_twice_makes_one_agent(cast: Cast, environment: Environment, visit: As) -> None:
    client = visit(cast.alice)
    answers = [client.post(ADDRESS, form()) for _ in range(2)]
    assert [answer["Location"] for answer in answers] == [ADDRESS + "newcomer/"] * 2
    assert Submission.objects.count() == 1


@pytest.mark.parametrize("phase", ["build", "validation"])
def test_the_same_archive_again_after_a_fault_of_the_platform_is_built_again(
    cast: Cast, environment: Environment, visit: As, phase: str
) -> None:
    client = visit(cast.alice)
    client.post(ADDRESS, form())
    submission = Submission.objects.get()
    build = submission.latest_build
    assert build is not None
    if phase == "build":
        factories.moved(Build.objects.all(), JobState.FAILED, fault=JobFault.PLATFORM)
    else:
        factories.moved(Build.objects.all(), JobState.SUCCEEDED)
        factories.validation(submission, JobState.FAILED, fault=JobFault.PLATFORM)
    submission.archive.storage.delete(str(submission.archive.name))
    page = client.post(ADDRESS, form(), follow=True).content.decode()
    assert "Version 1 has the same archive. The arena had failed on it and now builds it again." in page
    # This one finds that build waiting.
    version = {"archive": archive(FIRST)}
    page = client.post(ADDRESS + "newcomer/versions/", version, follow=True).content.decode()
    assert "Version 1 has the same archive, so nothing new was uploaded." in page
    again = Submission.objects.get()
    assert again.latest_build is not None
    assert (again.latest_build.pk > build.pk, again.latest_build.state) == (True, JobState.QUEUED)
    assert again.builds.count() == 2
    with again.archive.open("rb") as file:
        assert file.read() == zip_of(FIRST)


def test_the_same_archive_again_after_a_fault_of_its_own_is_not_built_again(
    cast: Cast, environment: Environment, visit: As
) -> None:
    client = visit(cast.alice)
    client.post(ADDRESS, form())
    factories.moved(Build.objects.all(), JobState.FAILED)
    page = client.post(ADDRESS, form(), follow=True).content.decode()
    assert "Version 1 has the same archive, so nothing new was uploaded." in page
    assert Build.objects.count() == 1


def test_a_deleted_or_differently_public_twin_is_no_twin(cast: Cast, environment: Environment, visit: As) -> None:
    client = visit(cast.alice)
    client.post(ADDRESS, form())
    assert errors(client.post(ADDRESS, form(is_public="on")))["name"] == [TAKEN_BY_ONESELF]
    client.post(ADDRESS + "newcomer/versions/1/delete/")
    assert errors(client.post(ADDRESS, form()))["name"] == [TAKEN_BY_ONESELF]
    assert Submission.objects.count() == 1


def test_a_name_is_taken_in_any_case_within_its_environment_only(
    cast: Cast, environment: Environment, visit: As
) -> None:
    factories.agent(cast.bob, environment, "Newcomer")
    assert errors(visit(cast.alice).post(ADDRESS, form()))["name"] == [TAKEN]
    factories.environment("quarto")
    assert visit(cast.alice).post("/environments/quarto/agents/", form()).status_code == 302


def test_the_owners_own_name_with_another_archive_is_taken_too(cast: Cast, environment: Environment, visit: As) -> None:
    client = visit(cast.alice)
    client.post(ADDRESS, form())
    assert errors(client.post(ADDRESS, {"name": "newcomer", "archive": archive(LAST)}))["name"] == [TAKEN_BY_ONESELF]


def test_a_closed_environment_takes_no_uploads(cast: Cast, environment: Environment, visit: As) -> None:
    environment.is_active = False
    environment.save()
    response = visit(cast.alice).post(ADDRESS, form())
    assert errors(response)["archive"] == ["Tic-tac-toe accepts no uploads at the moment."]


def newest_files() -> list[str]:
    with Submission.objects.latest("pk").archive.open("rb") as file, zipfile.ZipFile(file) as packed:
        return sorted(packed.namelist())


def test_a_game_takes_single_files_and_pasted_text(cast: Cast, environment: Environment, visit: As) -> None:
    client = visit(cast.alice)
    bot = SimpleUploadedFile("my_bot.py", FIRST.encode())
    weights = SimpleUploadedFile("weights.npz", b"123")
    assert client.post(ADDRESS, {"name": "one", "archive": [bot, weights]}).status_code == 302
    assert newest_files() == ["player.py", "weights.npz"]
    assert client.post(ADDRESS, {"name": "two", "code": FIRST.replace("\n", "\r\n")}).status_code == 302
    assert newest_files() == ["player.py"]
    both = client.post(ADDRESS, {"name": "three", "code": FIRST, "archive": archive(FIRST)})
    assert errors(both)["archive"] == ["Send either files or text."]
    several = [SimpleUploadedFile(name, FIRST.encode()) for name in ("a.py", "b.py")]
    assert errors(client.post(ADDRESS, {"name": "four", "archive": several}))["archive"] == [
        "Name the file that holds the player player.py; these are a.py, b.py."
    ]


def test_the_same_form_uploads_a_new_version_of_ones_own_agent(cast: Cast, environment: Environment, visit: As) -> None:
    client = visit(cast.alice)
    factories.agent(cast.bob, environment, "foreign")
    assert client.post(ADDRESS, form()).status_code == 302
    assert "a new version of newcomer" in client.get("/environments/tic-tac-toe/write/").content.decode()
    again = client.post(ADDRESS, {"version_of": "newcomer", "archive": archive(LAST)})
    assert (again.status_code, again["Location"]) == (302, f"{ADDRESS}newcomer/")
    assert [row.number for row in Agent.objects.get(name="newcomer").submissions.order_by("number")] == [1, 2]
    for wrong in ("foreign", "nothing"):
        assert "version_of" in errors(client.post(ADDRESS, {"version_of": wrong, "archive": archive(LAST)}))
    assert errors(client.post(ADDRESS, {"archive": archive(LAST)}))["name"] == ["Give the new agent a name."]


def test_files_are_checked_before_they_are_uploaded(cast: Cast, environment: Environment, visit: As) -> None:
    client, address = visit(cast.alice), "/environments/tic-tac-toe/check/"
    assert "It compiles and would be accepted." in client.post(address, {"code": FIRST}).content.decode()
    assert "never closed" in client.post(address, {"code": "moves = ["}).content.decode()
    assert "Choose a file." in client.post(address, {}).content.decode()
    assert not Submission.objects.exists()
