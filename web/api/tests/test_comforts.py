"""Sign-up, opponents, counts and the verdict on files, for programs."""

from __future__ import annotations

import html
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.upload import inspection
from arena_kit.upload.inspection import Obstacle
from core.models import Evaluation, PairTotal, Submission, User
from core.submissions import findings, uploads
from core.tests.factories import Cast
from tests.samples import FIRST, zip_of
from web.api.tests.conftest import Arena, Program
from web.api.tests.sending import file

pytestmark = pytest.mark.django_db
ACCOUNTS, VALIDATE = "/api/v1/accounts/", "/api/v1/validate/"
ADA = {"email": "ada@example.org", "username": "ada", "password": "a long and odd one"}


def open_account(client: Client, status: int, **changes: str) -> Any:
    answer = client.post(ACCOUNTS, ADA | changes, content_type="application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


# --- Sign-up ----------------------------------------------------------------------------------------------


def test_a_program_opens_an_account_which_logs_in(client: Client) -> None:
    assert open_account(client, 201)["username"] == "ada"
    token = client.post("/api/v1/tokens/", {**ADA, "name": "laptop", "days": 1}, content_type="application/json")
    assert token.status_code == 201
    assert set(open_account(client, 400)) == {"username"}
    taken = open_account(client, 400, username="lovelace")
    assert taken == {"email": ["There is already an account with this e-mail."]}


def test_sign_up_asks_for_what_the_page_asks_for(client: Client, settings: Settings) -> None:
    settings.INVITATION_CODE, settings.TEAMS = "open sesame", ["red", "blue"]
    said = open_account(client, 400)
    assert set(said) == {"invitation_code", "team"}
    assert set(open_account(client, 400, invitation_code="wrong", team="red")) == {"invitation_code"}
    assert not User.objects.filter(username="ada").exists()
    open_account(client, 201, invitation_code="open sesame", team="red")
    assert User.objects.get(username="ada").team == "red"


def test_a_weak_password_is_refused_at_its_field(client: Client) -> None:
    assert set(open_account(client, 400, password="password")) == {"password"}
    assert mail.outbox == []


def test_sign_up_has_the_limit_of_the_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from web.site.throttling import SignUpThrottle

    monkeypatch.setattr(SignUpThrottle, "THROTTLE_RATES", {"sign_up": "1/hour"})
    open_account(client, 400, password="x")
    open_account(client, 429)


# --- Opponents and counts ---------------------------------------------------------------------------------


def test_opponents_are_summed_over_versions_and_seats(client: Client, arena: Arena) -> None:
    anna, clara = arena.stage.anna, arena.stage.clara
    PairTotal.objects.all().delete()
    environment = arena.stage.environment
    PairTotal.objects.create(environment=environment, first=anna, second=clara, wins=5, draws=1, losses=2, duel_count=1)
    PairTotal.objects.create(environment=environment, first=clara, second=anna, wins=3, draws=0, losses=4, duel_count=2)
    (row,) = client.get(f"/api/v1/agents/{anna.agent_id}/opponents/").json()
    assert row == {
        "agent": clara.agent_id, "name": clara.agent.name, "owner": clara.agent.owner.username, "matches": 15,
        "wins": 9, "draws": 1, "losses": 5, "duels": 3,
    }  # fmt: skip
    (other,) = client.get(f"/api/v1/agents/{clara.agent_id}/opponents/").json()
    assert (other["wins"], other["losses"], other["draws"]) == (5, 9, 1)
    assert client.get("/api/v1/agents/999999/opponents/").status_code == 404


def test_evaluations_are_counted_by_time_and_environment(client: Client, arena: Arena) -> None:
    for evaluation, age in ((arena.verified, timedelta()), (arena.reported, timedelta(days=2))):
        Evaluation.objects.filter(pk=evaluation.pk).update(created_at=timezone.now() - age)
    counts = client.get("/api/evaluation-metrics").json()
    both = {"started": 2, "completed": 2, "failed": 0}
    one = {"started": 1, "completed": 1, "failed": 0}
    assert [counts[name] for name in ("total", "weekly", "daily", "recent")] == [both, both, one, one]
    assert counts["by_environment"] == {arena.cart_pole.env_id: {"total": 2, "completed": 2, "failed": 0}}


def test_health_has_the_version_and_what_plays(client: Client) -> None:
    answer = client.get("/health").json()
    assert (answer["version"][0].isdigit(), answer["active_matches"]) == (True, 0)


def test_an_owner_changes_a_description_by_the_api(arena: Arena, cast: Cast, program: Program) -> None:
    agent = arena.stage.anna.agent
    address = f"/api/v1/agents/{agent.pk}/"
    wanted = {"description": "Mine."}
    assert program(cast.charlie).patch(address, wanted, content_type="application/json").status_code == 403
    answer = program(agent.owner).patch(address, wanted, content_type="application/json")
    assert (answer.status_code, answer.json()["description"]) == (200, "Mine.")


# --- The verdict on files ---------------------------------------------------------------------------------


def verdict(client: Client, status: int = 200, **form: Any) -> Any:
    answer = client.post(VALIDATE, {"environment": "tic-tac-toe", **form})
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.fixture
def ada(arena: Arena, program: Program, monkeypatch: pytest.MonkeyPatch) -> Client:
    # Only a broken inspection takes this long, however busy this machine is.
    for name in ("MOST_SECONDS", "PATIENCE_SECONDS"):
        monkeypatch.setattr(inspection, name, 300.0)
    return program(arena.cast.alice)


@pytest.mark.parametrize("key", ["files", "archive"])
@pytest.mark.parametrize("name", ["main.py", "my_bot.py", "submission.py"])
def test_where_scripts_are_not_taken_a_single_program_is_a_player(
    ada: Client, arena: Arena, key: str, name: str
) -> None:
    source = b"def mine(obs, config):\n    return obs.legalActions[0]\n"
    form: dict[str, Any] = {key: file(name, source)}
    said = verdict(ada, environment=arena.stage.environment.slug, **form)
    assert (said["valid"], said["errors"], said["warnings"]) == (True, [], [])


@pytest.mark.slow
def test_files_are_judged_and_nothing_is_stored(ada: Client, arena: Arena) -> None:
    before = Submission.objects.count()
    good = verdict(ada, environment=arena.stage.environment.slug, archive=file("a.zip", zip_of(FIRST)))
    assert good == {"valid": True, "errors": [], "warnings": []}
    bad = verdict(
        ada, environment=arena.stage.environment.slug,
        files=[file("player.py", b"import socket\nx =\n"), file("requirements.txt", b"-e .\n")],
    )  # fmt: skip
    assert (bad["valid"], [(error["code"], error["file"], error["line"]) for error in bad["errors"]]) == (
        False, [("does_not_compile", "player.py", 2), ("requirements_option", "requirements.txt", 1)],
    )  # fmt: skip
    warned = verdict(ada, environment=arena.stage.environment.slug, files=[file("player.py", b"import socket\n")])
    assert (warned["valid"], [row["code"] for row in warned["warnings"]]) == (True, ["imports_socket", "no_player"])
    assert Submission.objects.count() == before


def test_a_site_refuses_by_form_and_api_what_its_operator_names(
    ada: Client, arena: Arena, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, source = arena.stage.environment.slug, FIRST + "import socket\nimport ctypes\n"
    [about_ctypes, about_socket] = sorted(
        verdict(ada, environment=environment, archive=file("a.zip", zip_of(source)))["warnings"],
        key=lambda one: str(one["code"]),
    )
    settings.UPLOAD_REFUSES = ["imports_socket"]
    judged = verdict(ada, environment=environment, archive=file("a.zip", zip_of(source)))
    assert judged == {"valid": False, "errors": [about_socket], "warnings": [about_ctypes]}
    before = Submission.objects.count()
    form = {"environment": environment, "name": "caller"}
    answer = ada.post("/api/v1/agents/", {**form, "archive": file("a.zip", zip_of(source))})
    assert (answer.status_code, answer.json()["archive"]) == (400, [about_socket["message"]])
    page = Client()
    page.force_login(arena.cast.alice)
    address = f"/environments/{environment}/agents/"
    answer = page.post(address, {"name": "caller", "archive": file("a.zip", zip_of(source))})
    assert about_socket["message"] in html.unescape(answer.content.decode())
    # The build would take it: so an arena without time to look takes nothing.
    monkeypatch.setattr("core.submissions.uploads.inspect_apart", lambda *_, **__: False)
    answer = ada.post("/api/v1/agents/", {**form, "archive": file("a.zip", zip_of(FIRST))})
    assert (answer.status_code, answer.json()["archive"]) == (400, [uploads.BUSY])
    assert Submission.objects.count() == before


def test_a_script_is_refused_where_scripts_are(ada: Client, arena: Arena) -> None:
    found = verdict(
        ada, environment=arena.stage.environment.slug, archive=file("a.zip", zip_of("print(1)\n", "submission.py"))
    )
    assert [error["code"] for error in found["errors"]] == ["script_not_taken"]


def test_the_verdict_needs_an_account_an_environment_and_files(ada: Client, client: Client, arena: Arena) -> None:
    assert client.post(VALIDATE, {"environment": "x"}).status_code == 401
    assert set(verdict(ada, 400, environment="nowhere", archive=file("a.zip", zip_of(FIRST)))) == {"environment"}
    assert set(verdict(ada, 400, environment=arena.stage.environment.slug)) == {"archive"}


@pytest.mark.parametrize(
    ("obstacle", "seconds"), [(Obstacle.SENDER_BUSY, "2"), (Obstacle.ARENA_BUSY, "10"), (Obstacle.UNFINISHED, "60")]
)
def test_a_busy_arena_says_when_to_ask_again(
    ada: Client, arena: Arena, monkeypatch: pytest.MonkeyPatch, obstacle: Obstacle, seconds: str
) -> None:
    monkeypatch.setattr(findings, "findings_apart", lambda *_, **__: obstacle)
    answer = ada.post(VALIDATE, {"environment": arena.stage.environment.slug, "archive": file("a.zip", zip_of(FIRST))})
    assert (answer.status_code, answer["Retry-After"]) == (503, seconds)
    assert answer.json()["detail"] == findings.OBSTACLES[obstacle][1]


def test_the_verdict_has_a_limit_of_its_own(ada: Client, arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    from web.site.throttling import ValidateThrottle

    monkeypatch.setattr(ValidateThrottle, "THROTTLE_RATES", {"validate": "1/hour"})
    verdict(ada, 400)
    verdict(ada, 429)
