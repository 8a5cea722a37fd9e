"""Quotas in the API."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.fixtures import Settings

from core.models import Environment, Submission
from core.tests import factories
from core.tests.factories import Cast
from tests.samples import FIRST, zip_of
from web.api.tests.conftest import Program
from web.api.tests.sending import SUBMIT, file, script

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("midday")]
AGENTS = "/api/v1/agents/"
QUOTAS = "/api/v1/me/quotas/"


@pytest.fixture
def environment(cast: Cast) -> Environment:
    return factories.environment()


def upload(client: Client, name: str) -> Any:
    archive = SimpleUploadedFile("player.zip", zip_of(f"# {name}\n{FIRST}"))
    return client.post(AGENTS, {"environment": "tic-tac-toe", "name": name, "archive": archive})


def limited(settings: Settings, **numbers: int) -> None:
    settings.QUOTAS = {**settings.QUOTAS, **numbers}


def test_what_is_left_is_listed_by_environment(
    cast: Cast, environment: Environment, program: Program, settings: Settings
) -> None:
    limited(settings, uploads_per_day=5, active_agents=3)
    alice = program(cast.alice)
    assert upload(alice, "one").status_code == 201

    (row,) = [row for row in alice.get(QUOTAS).json() if row["environment"] != "cart-pole"]

    assert row["environment"] == "tic-tac-toe"
    uploads, agents, size = row["quotas"]
    assert {key: uploads[key] for key in ("name", "limit", "used", "left")} == {
        "name": "uploads_per_day", "limit": 5, "used": 1, "left": 4,
    }  # fmt: skip
    assert uploads["resets_at"].endswith("T00:00:00Z")
    assert (agents["name"], agents["left"], agents["resets_at"]) == ("active_agents", 2, None)
    assert (size["name"], size["limit"], size["used"]) == ("upload_bytes", settings.MAX_UPLOAD_BYTES, None)


def test_it_is_one_s_own_alone(client: Client, environment: Environment) -> None:
    assert client.get(QUOTAS).status_code == 401


def test_the_upload_above_the_quota_is_429_with_a_code_and_when_to_come_back(
    cast: Cast, environment: Environment, program: Program, settings: Settings
) -> None:
    limited(settings, uploads_per_day=1)
    alice = program(cast.alice)
    assert upload(alice, "one").status_code == 201

    answer = upload(alice, "two")

    assert answer.status_code == 429
    assert answer.json()["code"] == "quota_uploads_per_day"
    assert answer.json()["detail"].startswith("Daily submission quota exceeded")
    assert 0 < int(answer["Retry-After"]) <= 24 * 3600
    assert upload(alice, "one").status_code == 200, "the same once more"


def test_where_waiting_does_not_help_it_is_a_conflict(
    cast: Cast, environment: Environment, program: Program, settings: Settings
) -> None:
    limited(settings, active_agents=1)
    alice = program(cast.alice)
    upload(alice, "one")
    answer = upload(alice, "two")
    assert (answer.status_code, answer.json()["code"]) == (409, "quota_active_agents")
    assert "Retry-After" not in answer


def test_what_is_too_large_here_is_a_bad_request(cast: Cast, environment: Environment, program: Program) -> None:
    environment.quota_upload_bytes = 10
    environment.save()
    answer = upload(program(cast.alice), "one")
    assert (answer.status_code, answer.json()["code"]) == (400, "quota_upload_bytes")


def test_clients_of_older_systems_are_told_the_same(
    open_to_all: None, cart_pole: Environment, settings: Settings
) -> None:
    limited(settings, uploads_per_day=1)
    here, there = Client(REMOTE_ADDR="192.0.2.1"), Client(REMOTE_ADDR="192.0.2.2")
    first = here.post(SUBMIT, script(env_id=cart_pole.env_id))
    assert first.status_code == 200
    answer = here.post(SUBMIT, {"file": file(content=b"print(1)"), "env_id": cart_pole.env_id})
    assert (answer.status_code, answer.json()["code"]) == (429, "quota_uploads_per_day")
    assert int(answer["Retry-After"]) > 0
    assert there.post(SUBMIT, script(env_id=cart_pole.env_id)).status_code == 200
    assert not Submission.objects.filter(address_digest="").exists()
