"""Submissions by clients of older systems: fields, error sentences and ids."""

from __future__ import annotations

import uuid
import zipfile
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from core.models import Agent, Build, Environment, JobFault, JobState, Submission, SubmissionForm, User
from core.models.user import ANONYMOUS_EMAIL
from core.tests import factories
from core.tests.factories import Cast
from tests.samples import FIRST, zip_of
from web.api.authentication import HOW_TO_GET_ONE
from web.api.tests.conftest import Program
from web.api.tests.sending import SCRIPT, SUBMIT, file, files, script

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cart_pole")]
ID = "7c9a1f2e-3b4d-4c5e-8f60-718293a4b5c6"


def names_in(submission: Submission) -> dict[str, bytes]:
    with submission.archive.open() as stored, zipfile.ZipFile(stored) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("address", [SUBMIT, "/api/submit", "/submissions/", "/submissions"])
def test_a_script_is_queued_under_an_id(cast: Cast, program: Program, address: str) -> None:
    response = program(cast.alice).post(address, script(algorithm="Q-Learning (tabular)"))
    answer = response.json()
    submission = Submission.objects.get()
    assert response.status_code == 200
    assert answer == {
        "id": str(submission.public_id),
        "status": "queued",
        "env_id": "CartPole-v1",
        "algorithm": "Q-Learning (tabular)",
    }
    assert submission.agent.owner == cast.alice
    assert submission.form == SubmissionForm.SCRIPT
    assert submission.builds.get().state == JobState.QUEUED
    assert submission.agent.name == f"Q-Learning-tabula-{submission.public_id.hex[:8]}"


def test_what_is_left_out_has_the_known_defaults(cast: Cast, program: Program) -> None:
    answer = program(cast.alice).post(SUBMIT, script(env_id="", algorithm="", user_id="", client_id="")).json()
    assert (answer["env_id"], answer["algorithm"]) == ("CartPole-v1", "Custom")


def test_a_script_is_stored_under_its_name_and_as_the_one_to_run(cast: Cast, program: Program) -> None:
    program(cast.alice).post(SUBMIT, script())
    assert names_in(Submission.objects.get()) == {"agent.py": SCRIPT, "submission.py": SCRIPT}


def test_of_several_files_the_main_one_is_run_whatever_the_others_are_called(cast: Cast, program: Program) -> None:
    form = files("train.py", "player.py", "main.py", "weights.bin", main_file="train.py")
    form["files"].append(file("train_notes.txt", b""))
    assert program(cast.alice).post(SUBMIT, form).status_code == 200
    submission = Submission.objects.get()
    assert submission.form == SubmissionForm.SCRIPT
    assert set(names_in(submission)) == {
        "train.py", "player.py", "main.py", "weights.bin", "train_notes.txt", "submission.py",
    }  # fmt: skip


def test_a_path_of_another_system_keeps_its_last_part(cast: Cast, program: Program) -> None:
    form = {"files": [file("C:\\code\\run.py"), file("/home/me/net.py")], "main_file": "C:\\code\\run.py"}
    assert program(cast.alice).post(SUBMIT, form).status_code == 200
    assert set(names_in(Submission.objects.get())) == {"run.py", "net.py", "submission.py"}


def test_a_zip_is_taken_as_the_site_takes_it(cast: Cast, program: Program) -> None:
    archive = file("player.zip", zip_of(FIRST))
    assert program(cast.alice).post(SUBMIT, {"file": archive}).status_code == 200
    assert Submission.objects.get().form == SubmissionForm.PLAYER


REFUSED: list[tuple[dict[str, Any], str]] = [
    (script(client_id="not-an-id"), "client_id must be a valid UUID"),
    ({}, "Please upload at least one Python file"),
    ({"file": "no file, but a text"}, "Invalid file in upload"),
    (
        files("notes.txt", main_file="notes.txt"),
        "At least one Python (.py) file is required when uploading multiple files",
    ),
    (files("run.py", main_file="walk.py"), "main_file must match one of the uploaded file names"),
    (files("run.py", "net.py"), "main_file is required when uploading multiple files"),
    (files("run.py", "notes.txt", main_file="notes.txt"), "main_file must be a Python (.py) file"),
    ({"file": file("notes.txt")}, "Only Python scripts allowed"),
    (
        script(env_id="Nowhere-v0"),
        "There is no board of 'Nowhere-v0'. GET /api/leaderboard/environments lists all boards.",
    ),
    (files("run.py", "run.py", main_file="run.py"), "Two of the files are named run.py."),
    (
        files("run.py", "submission.py", main_file="run.py"),
        "run.py would be run as submission.py, but there is another submission.py.",
    ),
    (
        {"file": file("bad.py", b"def (")},
        "bad.py does not compile: line 1: invalid syntax.",
    ),
]


@pytest.mark.parametrize(("form", "sentence"), REFUSED, ids=[sentence[:40] for _, sentence in REFUSED])
def test_what_is_wrong_is_said_in_the_known_words(
    cast: Cast, program: Program, form: dict[str, Any], sentence: str
) -> None:
    for sent in form.values():
        for upload in sent if isinstance(sent, list) else [sent]:
            getattr(upload, "seek", lambda _: None)(0)
    response = program(cast.alice).post(SUBMIT, form)
    assert (response.status_code, response.json()) == (400, {"detail": sentence})
    assert not Submission.objects.exists()


def test_an_environment_with_duels_has_no_board_to_submit_to(cast: Cast, program: Program) -> None:
    factories.environment("tic-tac-toe")
    response = program(cast.alice).post(SUBMIT, script(env_id="tic-tac-toe"))
    assert response.status_code == 400
    assert "/api/leaderboard/environments" in response.json()["detail"]


def test_labels_that_are_too_long_are_named(cast: Cast, program: Program) -> None:
    response = program(cast.alice).post(SUBMIT, script(algorithm="x" * 101))
    assert (response.status_code, list(response.json())) == (400, ["algorithm"])


def test_a_file_whose_name_is_no_utf_8_is_none(cast: Cast, program: Program) -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="\xff\xfe.py"\r\n\r\nprint()\r\n--b--\r\n'
    response = program(cast.alice).post(SUBMIT, body, content_type="multipart/form-data; boundary=b")
    assert (response.status_code, response.json()) == (400, {"detail": "Please upload at least one Python file"})


def test_too_many_files_are_refused_with_a_way_out(cast: Cast, program: Program) -> None:
    response = program(cast.alice).post(SUBMIT, files(*[f"part{n}.py" for n in range(101)], main_file="part0.py"))
    assert response.status_code == 400
    assert response.json() == {"detail": "The form has too many parts. Send fewer files, or a zip of them."}


def test_too_much_is_refused(cast: Cast, program: Program, settings: Settings) -> None:
    settings.MAX_UPLOAD_BYTES = 1024 * 1024
    form = files("run.py", main_file="run.py")
    form["files"].append(file("weights.bin", b"0" * 1024 * 1024))
    response = program(cast.alice).post(SUBMIT, form)
    assert (response.status_code, response.json()) == (400, {"detail": "The file is larger than 1 MiB."})


def test_without_a_token_one_is_told_how_to_get_one(client: Client) -> None:
    response = client.post(SUBMIT, script())
    assert (response.status_code, response.json()) == (401, {"detail": HOW_TO_GET_ONE})
    assert response["WWW-Authenticate"] == 'Bearer realm="api"'
    assert not Submission.objects.exists()


def test_anonymous_submissions_belong_to_an_account_without_a_login(client: Client, open_to_all: None) -> None:
    response = client.post(SUBMIT, script(user_id="grace"))
    assert response.status_code == 200
    submission = Submission.objects.get()
    owner = submission.agent.owner
    assert (owner.username, owner.email, owner.has_usable_password()) == ("anonymous", ANONYMOUS_EMAIL, False)
    assert submission.user_label == "grace"
    client.post("/login/", {"username": ANONYMOUS_EMAIL, "password": ""})
    assert "_auth_user_id" not in client.session
    client.post(SUBMIT, script(user_id="ada"))
    assert Agent.objects.filter(owner=owner).count() == 2


def test_the_name_of_a_person_is_never_taken(client: Client, open_to_all: None) -> None:
    person = factories.user("anonymous")
    client.post(SUBMIT, script())
    owner = Submission.objects.get().agent.owner
    assert owner != person
    assert owner.username.startswith("anonymous-")


def test_a_closed_account_of_anonymous_submissions_closes_them(client: Client, open_to_all: None) -> None:
    client.post(SUBMIT, script())
    User.objects.filter(email=ANONYMOUS_EMAIL).update(is_active=False)
    response = client.post(SUBMIT, script())
    assert (response.status_code, response.json()) == (
        400,
        {"detail": "Anonymous submissions are closed at the moment."},
    )


def test_a_token_does_not_let_its_owner_pass_for_another(cast: Cast, program: Program) -> None:
    program(cast.alice).post(SUBMIT, script(user_id="olga"))
    assert Submission.objects.get().user_label == ""


def test_the_same_files_under_the_same_id_are_the_same_submission(cast: Cast, program: Program) -> None:
    alice = program(cast.alice)
    first = alice.post(SUBMIT, script(client_id=ID))
    second = alice.post(SUBMIT, script(client_id=ID.upper()))
    assert first.json()["id"] == ID
    assert (second.status_code, second.json()) == (200, first.json())
    assert Build.objects.count() == Submission.objects.count() == 1


def test_a_retry_builds_again_what_the_arena_had_failed_on(cast: Cast, program: Program) -> None:
    alice = program(cast.alice)
    alice.post(SUBMIT, script(client_id=ID))
    factories.moved(Build.objects.all(), JobState.FAILED, fault=JobFault.PLATFORM)
    alice.post(SUBMIT, script(client_id=ID))
    assert [build.state for build in Submission.objects.get().builds.all()] == [JobState.FAILED, JobState.QUEUED]


def test_an_id_never_stands_for_something_else(cast: Cast, program: Program, cart_pole: Environment) -> None:
    program(cast.alice).post(SUBMIT, script(client_id=ID))
    stored = names_in(Submission.objects.get())
    sentence = f"client_id {ID} belongs to another submission. Choose a new one, or leave it out."
    tries = [
        (cast.bob, script(client_id=ID)),
        (cast.alice, {"file": file("agent.py", b"print()\n"), "client_id": ID}),
    ]
    for person, form in tries:
        response = program(person).post(SUBMIT, form)
        assert (response.status_code, response.json()) == (409, {"detail": sentence})
    assert names_in(Submission.objects.get()) == stored


def test_the_id_of_a_deleted_submission_is_not_used_again(cast: Cast, program: Program) -> None:
    alice = program(cast.alice)
    alice.post(SUBMIT, script(client_id=ID))
    alice.delete(f"/submissions/{ID}")
    assert alice.post(SUBMIT, script(client_id=ID)).status_code == 409


def test_two_ids_that_begin_alike_get_agents_of_their_own(cast: Cast, program: Program) -> None:
    alice, twin = program(cast.alice), f"{ID[:8]}{uuid.uuid4().hex[8:]}"
    answers = [alice.post(SUBMIT, script(client_id=given)).json()["id"] for given in (ID, twin)]
    assert answers == [ID, str(uuid.UUID(twin))]
    assert Agent.objects.filter(name=f"Custom-{twin}").exists()


def test_a_broken_form_is_refused(cast: Cast, program: Program) -> None:
    alice = program(cast.alice)
    for body, kind, status in (
        (b"nonsense", "multipart/form-data", 400),
        (b"", "multipart/form-data; boundary=b", 400),
        (b"{}", "application/json", 400),
        (b"{}", "text/plain", 415),
        (b"", "application/x-www-form-urlencoded", 400),
    ):
        response = alice.post(SUBMIT, body, content_type=kind)
        assert (response.status_code, list(response.json())) == (status, ["detail"])
