"""Submissions to environments that the arena does not have, but Gymnasium has; and scripts sent as JSON."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from arena_kit.environment.outside.describing import described, registered_ids
from arena_kit.upload.zip_safety import ArchiveRefused
from core.environments import additions
from core.models import Agent, Environment, Submission, SubmissionForm, User
from core.models.user import ANONYMOUS_EMAIL
from core.people.services import anonymous_ensure
from core.tests.factories import Cast
from tests.samples import FIRST, zip_of
from web.api.tests.conftest import Program
from web.api.tests.sending import SUBMIT, file, script
from web.site.throttling import EnvironmentThrottle

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cart_pole")]
LIST = "/api/leaderboard/environments"
NO_BOARD = "There is no board of {!r}. GET /api/leaderboard/environments?all=true lists all ids."
PARTS = 4
described_once = cache(described)
HOSTILE = (
    "module:Env-v0", "os:CartPole-v0", "gymnasium.envs.classic_control.cartpole:CartPoleEnv", "CartPole-v0?x=1",
    "../CartPole-v0", "a/b/CartPole-v0", "CartPole", "cartpole-v0", "CartPole-v0\u200b", "CartPole-v9", "$(id)-v0",
)  # fmt: skip


@pytest.fixture(autouse=True)
def open_environments(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.OPEN_ENVIRONMENTS = "scripts"
    monkeypatch.setattr(additions, "described", described_once)


def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("the environment was tried")


@pytest.mark.parametrize("env_id", ["CartPole-v0", "MountainCarContinuous-v0"])
def test_the_first_script_adds_the_environment(cast: Cast, program: Program, env_id: str) -> None:
    response = program(cast.alice).post(SUBMIT, script(env_id=env_id))
    assert (response.status_code, response.json()["env_id"]) == (200, env_id)
    row = Environment.objects.get(env_id=env_id)
    assert (row.is_added, row.takes_players, row.is_active) == (True, False, True)
    assert Submission.objects.get().agent.environment == row
    again = program(cast.bob).post("/submissions/", script(env_id=env_id))
    assert again.status_code == 200
    assert row.agents.count() == 2


@pytest.mark.slow
def test_its_board_and_its_page_are_there(cast: Cast, program: Program, client: Client) -> None:
    program(cast.alice).post(SUBMIT, script(env_id="MountainCarContinuous-v0"))
    assert client.get("/leaderboard/MountainCarContinuous-v0").json() == []
    assert client.get("/api/leaderboard/?env_id=MountainCarContinuous-v0").json() == []
    page = client.get("/environments/gym-mountain-car-continuous-0/").content.decode()
    assert "added by a submission" in page
    page = client.get("/environments/gym-mountain-car-continuous-0/write/").content.decode()
    assert "This leaderboard takes scripts" in page
    assert "Start with a player" not in page
    shown = client.get("/api/v1/environments/gym-mountain-car-continuous-0/").json()
    assert (shown["is_added"], shown["takes_players"]) == (True, False)
    folder = client.get("/api/v1/environments/gym-mountain-car-continuous-0/folder.zip")
    assert (folder.status_code, b"gym-mountain-car-continuous-0.yml" in folder.content) == (200, True)


def test_where_it_is_off_nothing_has_changed(cast: Cast, program: Program, settings: Settings) -> None:
    settings.OPEN_ENVIRONMENTS = "false"
    response = program(cast.alice).post(SUBMIT, script(env_id="CartPole-v0"))
    sentence = (
        "There is no board of 'CartPole-v0'. Do you mean 'CartPole-v1'? GET /api/leaderboard/environments lists all "
        "boards."
    )
    assert (response.status_code, response.json()) == (400, {"detail": sentence})
    assert not Environment.objects.filter(env_id="CartPole-v0").exists()
    assert "CartPole-v0" not in program(None).get(f"{LIST}?all=true").json()["envs"]


@pytest.mark.parametrize("env_id", HOSTILE)
def test_an_id_that_is_not_registered_is_refused_and_never_tried(
    cast: Cast, program: Program, env_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(additions, "described", never)
    response = program(cast.alice).post(SUBMIT, script(env_id=env_id))
    before, _, after = NO_BOARD.format(env_id).partition(" GET ")
    said = response.json()["detail"]
    assert (response.status_code, said.startswith(before), said.endswith(after)) == (400, True, True)
    assert Environment.objects.count() == 1


def test_ids_that_are_too_long_or_hold_nul_are_named_as_a_field(cast: Cast, program: Program) -> None:
    for env_id in ("x" * 101, "Cart\0Pole-v0"):
        response = program(cast.alice).post(SUBMIT, script(env_id=env_id))
        assert (response.status_code, list(response.json())) == (400, ["env_id"])


@pytest.mark.parametrize("env_id", ["Ant-v2", "GymV26Environment-v0"])
def test_one_that_cannot_be_made_here_leaves_no_row(cast: Cast, program: Program, env_id: str) -> None:
    response = program(cast.alice).post(SUBMIT, script(env_id=env_id))
    sentence = f"{env_id} needs a package that this arena does not have."
    assert (response.status_code, response.json()) == (400, {"detail": sentence})
    assert Environment.objects.count() == 1
    assert not Agent.objects.exists()


@pytest.mark.slow
def test_an_agent_is_taken_only_where_all_is_open(cast: Cast, program: Program, settings: Settings) -> None:
    player = zip_of(FIRST)
    form = {"env_id": "CartPole-v0"}
    response = program(cast.alice).post(SUBMIT, {**form, "file": file("player.zip", player)})
    assert response.status_code == 400
    assert "accepts only scripts" in response.json()["detail"]
    assert Environment.objects.count() == 1
    settings.OPEN_ENVIRONMENTS = "all"
    assert program(cast.alice).post(SUBMIT, {**form, "file": file("player.zip", player)}).status_code == 200
    assert Submission.objects.get().form == SubmissionForm.PLAYER
    assert Environment.objects.get(env_id="CartPole-v0").takes_players


def test_an_agent_is_refused_by_an_added_environment_for_scripts(cast: Cast, program: Program) -> None:
    alice = program(cast.alice)
    alice.post(SUBMIT, script(env_id="CartPole-v0"))
    zipped = file("player.zip", zip_of(FIRST))
    response = alice.post("/api/v1/agents/", {"archive": zipped, "environment": "gym-cart-pole-0", "name": "anna"})
    assert response.status_code == 400
    assert "accepts only scripts" in response.json()["archive"][0]


@pytest.mark.parametrize(
    "form",
    [{"file": file("notes.zip", b"no zip")}, {"client_id": "no"}, {}],
    ids=["no zip", "no id", "no file"],
)
def test_what_is_refused_anyway_is_refused_before_the_trial(
    cast: Cast, program: Program, form: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(additions, "described", never)
    response = program(cast.alice).post(SUBMIT, {**form, "env_id": "CartPole-v0"})
    assert response.status_code == 400
    assert Environment.objects.count() == 1


def test_a_script_that_does_not_compile_tries_nothing(
    cast: Cast, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def inspect(*_: Any, **__: Any) -> bool:
        raise ArchiveRefused("agent.py does not compile.", code="does_not_compile")

    monkeypatch.setattr("core.submissions.uploads.inspect_apart", inspect)
    monkeypatch.setattr(additions, "described", never)
    response = program(cast.alice).post(SUBMIT, script(env_id="CartPole-v0"))
    assert (response.status_code, response.json()) == (400, {"detail": "agent.py does not compile."})


def test_a_closed_account_tries_nothing(client: Client, open_to_all: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additions, "described", never)
    anonymous_ensure()
    User.objects.filter(email=ANONYMOUS_EMAIL).update(is_active=False)
    response = client.post(SUBMIT, script(env_id="CartPole-v0"))
    assert response.json() == {"detail": "Anonymous submissions are closed at the moment."}


def test_an_id_of_another_submission_tries_nothing(
    cast: Cast, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = program(cast.bob).post(SUBMIT, script()).json()["id"]
    monkeypatch.setattr(additions, "described", never)
    response = program(cast.alice).post(SUBMIT, script(env_id="CartPole-v0", client_id=taken))
    assert response.status_code == 409


def test_new_environments_are_limited_and_known_ones_are_not(
    cast: Cast, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EnvironmentThrottle, "THROTTLE_RATES", {"environment": "1/day"})
    alice = program(cast.alice)
    assert alice.post(SUBMIT, script(env_id="CartPole-v0")).status_code == 200
    monkeypatch.setattr(additions, "described", never)
    response = alice.post(SUBMIT, script(env_id="MountainCarContinuous-v0"))
    assert response.status_code == 429
    assert response.json()["detail"] == "You have named too many environments that are new here."
    assert int(response["Retry-After"]) > 0
    assert alice.post(SUBMIT, script(env_id="CartPole-v0")).status_code == 200


def test_anonymous_clients_add_environments_too(client: Client, open_to_all: None) -> None:
    assert client.post(SUBMIT, script(env_id="CartPole-v0")).status_code == 200
    assert Environment.objects.get(env_id="CartPole-v0").is_added


def test_the_list_has_boards_and_with_all_every_id_that_may_be_named(client: Client) -> None:
    assert client.get(LIST).json() == {"envs": ["CartPole-v1"]}
    assert client.get(f"{LIST}?all=false").json() == {"envs": ["CartPole-v1"]}
    every = client.get(f"{LIST}?all=true").json()["envs"]
    assert every[0] == "CartPole-v1"
    assert set(every) == set(registered_ids())
    assert len(every) == len(set(every))
    assert client.get(f"{LIST}?all=perhaps").status_code == 400


def test_a_closed_environment_stays_closed(cast: Cast, program: Program) -> None:
    alice = program(cast.alice)
    alice.post(SUBMIT, script(env_id="CartPole-v0"))
    Environment.objects.filter(env_id="CartPole-v0").update(is_active=False)
    response = alice.post(SUBMIT, script(env_id="CartPole-v0"))
    assert response.json() == {"detail": "CartPole-v0 accepts no uploads at the moment."}


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(PARTS))
def test_every_registered_id_is_added_or_refused_with_a_sentence(
    cast: Cast, program: Program, part: int, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OPEN_ENVIRONMENTS = "all"
    monkeypatch.setattr(EnvironmentThrottle, "THROTTLE_RATES", {"environment": "1000/day"})
    ids = [env_id for env_id in registered_ids() if env_id != "CartPole-v1"]
    assert len(ids) >= 30
    alice, added = program(cast.alice), 0
    for env_id in ids[part::PARTS]:
        response = alice.post(SUBMIT, script(env_id=env_id))
        row = Environment.objects.filter(env_id=env_id).first()
        if row is not None:
            added += 1
            assert response.status_code == 200
            assert alice.get(f"/environments/{row.slug}/").status_code == 200
        else:
            detail = response.json()["detail"]
            assert response.status_code == 400
            assert detail.startswith((env_id, f"Gymnasium cannot make {env_id}"))
            assert "install" not in detail
    assert added


# --- JSON -------------------------------------------------------------------------------------------------------------

CONTENT = 'import json\nprint(json.dumps({"score": 7.0}))\n'


def sent(client: Client, fields: dict[str, Any], address: str = "/submissions/") -> Any:
    return client.post(address, json.dumps(fields), content_type="application/json")


@pytest.mark.parametrize("address", ["/submissions/", "/submissions", SUBMIT])
def test_a_script_is_sent_as_json(client: Client, open_to_all: None, address: str) -> None:
    fields = {"user_id": "grace", "algorithm": "DQN", "env_id": "CartPole-v1", "agent_file": "dqn.py"}
    response = sent(client, {"content": CONTENT, **fields}, address)
    assert (response.status_code, response.json()["algorithm"]) == (200, "DQN")
    submission = Submission.objects.get()
    assert (submission.user_label, submission.form) == ("grace", SubmissionForm.SCRIPT)


def test_the_same_script_is_the_same_submission_in_both_forms(cast: Cast, program: Program) -> None:
    alice, client_id = program(cast.alice), "7c9a1f2e-3b4d-4c5e-8f60-718293a4b5c6"
    assert sent(alice, {"content": CONTENT, "agent_file": "agent.py", "client_id": client_id}).status_code == 200
    form = {"file": file("agent.py", CONTENT.encode()), "client_id": client_id}
    assert alice.post(SUBMIT, form).json()["id"] == client_id
    assert Submission.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({}, "JSON needs the source of the script as content"),
        ({"agent_file": "dqn.py"}, "JSON needs the source of the script as content"),
        ({"agent_file": "dqn.py", "content": None}, "JSON needs the source"),
        ({"agent_file": "dqn.py", "content": " \n"}, "JSON needs the source"),
        ({"agent_file": "dqn.py", "content": ["print()"]}, "JSON needs the source"),
        ({"agent_file": "dqn.zip", "content": CONTENT}, "Only Python scripts allowed"),
        ({"agent_file": {"name": "x"}, "content": CONTENT}, "Only Python scripts allowed"),
        ({"agent_file": "dqn\n.py", "content": CONTENT}, "is not plain UTF-8"),
        ({"content": "\ud800"}, "UTF-8"),
        ({"content": CONTENT, "client_id": 7}, "client_id must be a valid UUID"),
        ({"content": CONTENT, "env_id": "Nowhere-v0"}, "There is no board"),
        ({"content": "x" * ((1 << 20) + 1)}, "The file is larger than 1 MiB."),
        ({"content": "x" * (3 << 20)}, "too large"),
    ],
    ids=str,
)
def test_json_that_is_no_script_is_refused_with_a_sentence(
    cast: Cast, program: Program, fields: dict[str, Any], part: str
) -> None:
    response = sent(program(cast.alice), fields)
    assert response.status_code == 400
    assert part in response.json()["detail"]
    assert not Submission.objects.exists()


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b'"text"', b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(cast: Cast, program: Program, body: bytes) -> None:
    response = program(cast.alice).post("/submissions/", body, content_type="application/json")
    assert (response.status_code, list(response.json())) == (400, ["detail"])


def test_labels_of_the_wrong_type_are_named(cast: Cast, program: Program) -> None:
    for name, value in (("algorithm", ["DQN"]), ("user_id", {"a": 1}), ("env_id", [1]), ("algorithm", "\ud800")):
        response = sent(program(cast.alice), {"content": CONTENT, name: value})
        assert (response.status_code, list(response.json())) == (400, [name])


@pytest.mark.parametrize(("quota", "status"), [("upload_bytes", 400), ("storage_bytes", 409)])
def test_an_upload_above_the_quota_of_its_sender_tries_nothing_and_leaves_no_row(
    cast: Cast, program: Program, quota: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(additions, "described", never)
    User.objects.filter(pk=cast.alice.pk).update(**{f"quota_{quota}": 10})
    response = program(cast.alice).post(SUBMIT, script(env_id="CartPole-v0"))
    assert (response.status_code, response.json()["code"]) == (status, f"quota_{quota}")
    assert Environment.objects.count() == 1


def test_an_upload_above_the_quota_that_anonymous_clients_share_leaves_no_row(
    client: Client, open_to_all: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(additions, "described", never)
    settings.QUOTAS_ANONYMOUS = {**settings.QUOTAS_ANONYMOUS, "storage_bytes": 10}
    response = client.post(SUBMIT, script(env_id="CartPole-v0"))
    assert response.json()["code"] == "quota_storage_bytes"
    assert Environment.objects.count() == 1
