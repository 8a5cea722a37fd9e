"""Texts that no database and no answer can hold: halves of surrogate pairs, which JSON can write and UTF-8 cannot."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from core.tests import applications, factories
from core.tests.applications import MEMBERS

pytestmark = pytest.mark.django_db
HALF = "\ud800"
SENT = (
    ("/api/v1/tokens/", {"name": "n", "scope": HALF}),
    ("/api/v1/tokens/", {"name": HALF}),
    ("/api/v1/tokens/", {HALF: "a"}),
    ("/api/v1/sittings/", {"agent": 1, "seat": HALF}),
    ("/api/v1/sittings/", {"agent": [{"deep": [HALF]}]}),
    ("/api/v1/batches/", {"environment": "desk", "tasks": [HALF], "note": HALF, "limits": {HALF: 1}}),
    ("/api/v1/tasks/tests/", {"environment": "desk", "tasks": [HALF]}),
    ("/api/rollouts", {"task_id": HALF, "model": HALF}),
    ("/api/v1/challenges/", {"agent": HALF, "opponent": HALF}),
)


@pytest.mark.parametrize(("address", "body"), SENT)
def test_half_a_surrogate_pair_in_json_is_refused_with_a_sentence(address: str, body: dict[str, object]) -> None:
    applications.package()
    client = Client()
    client.force_login(factories.user("ann"))
    with MEMBERS:
        answer = client.post(address, json.dumps(body), "application/json")
    assert answer.status_code == 400
    fields = [name for name in body if name != HALF and HALF in json.dumps(body[name], ensure_ascii=False)]
    assert list(answer.json()) == (["detail"] if HALF in body else fields)
    assert "half of a surrogate pair" in answer.content.decode()


@pytest.mark.parametrize("number", ["9" * 5_000, "-Infinity", "NaN"])
def test_a_number_that_cannot_be_read_is_refused_with_a_sentence_of_ours(number: str) -> None:
    client = Client()
    client.force_login(factories.user("ann"))
    answer = client.post("/api/v1/tokens/", f'{{"name": "n", "scope": {number}}}', "application/json")
    sentence = "The JSON has a number that is infinite, NaN, or too long; write a shorter one."
    assert (answer.status_code, answer.json()) == (400, {"detail": sentence})


@pytest.mark.parametrize("name", ["content", "agent_file", "env_id", "algorithm", "user_id", "client_id"])
def test_a_script_in_json_is_refused_for_half_a_pair_in_any_of_its_fields(name: str) -> None:
    client = Client()
    client.force_login(factories.user("ann"))
    answer = client.post("/submissions/", json.dumps({"content": "print()", name: HALF}), "application/json")
    assert answer.status_code == 400


def test_a_whole_pair_and_its_text_are_let_through() -> None:
    client = Client()
    client.force_login(factories.user("ann"))
    # Escaped as two halves, which together are one character.
    answer = client.post("/api/v1/tokens/", '{"name": "\\ud83d\\ude00", "scope": "\\\\ud800"}', "application/json")
    assert answer.status_code == 400
    assert "surrogate" not in answer.content.decode()


def test_a_form_never_holds_one(client: Client) -> None:
    client.force_login(factories.user("ann"))
    answer = client.post("/profile/tokens/", b"name=%ED%A0%80&scope=%ED%A0%80", "application/x-www-form-urlencoded")
    assert answer.status_code < 500
