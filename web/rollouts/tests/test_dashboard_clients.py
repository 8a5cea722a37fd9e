"""What clients of the older rollout dashboard do, as its routes answered them; its source is the measure."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.fixtures import Settings

from core.models import CancelCode, Environment, LanguageModel, Rollout, User
from core.rollouts.batches import rollout_cancel
from core.tests import applications, factories
from core.tests.applications import finished, running

pytestmark = pytest.mark.django_db
ROLLOUT_RESPONSE = {
    "id": str, "task_id": str, "job_id": str | None, "status": str, "result": str | None, "parsed_json": str | None,
    "success": bool | None, "error": str | None, "log_path": str | None, "metabase_port": int | None,
    "created_at": str, "completed_at": str | None,
}  # fmt: skip
COMPUTE_STATS = {
    "total_rollouts", "pending", "provisioning", "running", "completed", "failed", "error", "success_count",
    "in_progress_rollouts", "pending_rollouts", "recent_completed_rollouts", "recent_failed_rollouts", "all_rollouts",
}  # fmt: skip
DEFAULT_MODEL = "gemini-2.5-computer-use-preview-10-2025"


@pytest.fixture(autouse=True)
def members(settings: Settings) -> None:
    settings.ROLLOUTS = "members"


@pytest.fixture
def desk(db: None) -> Environment:
    return applications.package().environment


@pytest.fixture
def ann(db: None) -> User:
    return factories.user("ann")


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def made(client: Client, **body: Any) -> list[dict[str, Any]]:
    answer = client.post("/api/rollouts", {"task_id": "count", **body}, "application/json")
    assert answer.status_code == 200, answer.content
    rows: list[dict[str, Any]] = answer.json()
    return rows


def test_every_rollout_ends_in_a_state_that_clients_wait_for(desk: Environment, ann: User) -> None:
    client = as_user(ann)
    rows = [Rollout.objects.get(public_id=row["id"]) for row in made(client, model="nothing", attempts=5)]
    for row, outcome in zip(rows, ("SOLVED", "PARTIAL", "FAULT"), strict=False):
        finished(row, outcome)
    rollout_cancel(rollout=rows[3], code=CancelCode.BY_OWNER)
    shown = [client.get(f"/api/rollouts/{row.public_id}").json() for row in rows]
    assert [each["status"] for each in shown] == ["success", "failed", "failed", "error", "pending"]
    assert [each["success"] for each in shown] == [True, False, False, None, None]
    for each in shown:
        assert all(isinstance(each[name], kind) for name, kind in ROLLOUT_RESPONSE.items()), each
    found = {name: len(client.get(f"/api/rollouts?status={name}").json()) for name in ("success", "failed", "error")}
    assert found == {"success": 1, "failed": 2, "error": 1}
    assert len(client.get("/api/rollouts?status=completed").json()) == 4, "as the README says it"
    task = client.get("/api/tasks/count").json()
    assert (task["rollout_count"], task["completed_count"], task["success_count"]) == (5, 4, 1)


def test_statistics_have_the_keys_and_lists_of_the_dashboard(desk: Environment, ann: User) -> None:
    client = as_user(ann)
    rows = [Rollout.objects.get(public_id=row["id"]) for row in made(client, model="nothing", attempts=5)]
    finished(rows[1], "SOLVED")
    finished(rows[0], "SOLVED")
    finished(rows[2], "NOT_SOLVED")
    running(rows[3])
    stats = client.get("/api/compute/stats").json()
    assert set(stats) == COMPUTE_STATS
    counts = {name: stats[name] for name in COMPUTE_STATS if isinstance(stats[name], int)}
    assert counts == {
        "total_rollouts": 5, "pending": 1, "provisioning": 1, "running": 0, "completed": 3, "failed": 1, "error": 0,
        "success_count": 2,
    }  # fmt: skip
    ids = {name: [row["id"] for row in stats[name]] for name in COMPUTE_STATS if isinstance(stats[name], list)}
    assert ids["recent_completed_rollouts"] == [str(rows[0].public_id), str(rows[1].public_id)], (
        "successes, latest first"
    )
    assert ids["recent_failed_rollouts"] == [str(rows[2].public_id)]
    assert (len(ids["in_progress_rollouts"]), len(ids["pending_rollouts"]), len(ids["all_rollouts"])) == (1, 1, 5)


@pytest.mark.parametrize("attempts", [0, None, -3, 1])
def test_no_attempts_are_one(desk: Environment, ann: User, attempts: int | None) -> None:
    assert len(made(as_user(ann), model="nothing", attempts=attempts)) == 1


@pytest.mark.parametrize("body", [{}, {"model": None}, {"model": ""}, {"model": DEFAULT_MODEL}], ids=str)
def test_a_body_without_a_model_uses_the_default(desk: Environment, ann: User, body: dict[str, Any]) -> None:
    applications.model(DEFAULT_MODEL)
    made(as_user(ann), **body)
    assert Rollout.objects.get(batch__owner=ann).batch.model == LanguageModel.objects.get(name=DEFAULT_MODEL)


@pytest.mark.parametrize(
    ("answer", "result", "parsed"),
    [("It is 7 {or so", "It is 7 {or so", None), ({"a": [1]}, '{"a": [1]}', '{"a": [1]}'), (None, None, None)],
)
def test_an_answer_that_is_no_json_is_kept_as_text(
    desk: Environment, ann: User, answer: Any, result: str | None, parsed: str | None
) -> None:
    client = as_user(ann)
    (row,) = made(client, model="nothing")
    rollout = finished(Rollout.objects.get(public_id=row["id"]))
    Rollout.objects.filter(pk=rollout.pk).update(answer=answer)
    shown = client.get(f"/api/rollouts/{row['id']}").json()
    assert (shown["result"], shown["parsed_json"]) == (result, parsed)


@pytest.mark.parametrize("answer", ["[Redacted] Inc.", '{"a": 1', "plain", '{"a": 1}'])
def test_expected_answers_are_texts(desk: Environment, answer: str) -> None:
    client = as_user(applications.organiser())
    file = SimpleUploadedFile("tasks.json", json.dumps([{"id": "x", "task": "Do it.", "answer": answer}]).encode())
    assert client.post("/api/tasks/upload", {"file": file}).json()["count"] == 1
    assert client.get("/api/tasks/x").json()["answer"] == answer


def test_on_ones_own_machine_no_token_is_needed(desk: Environment, settings: Settings) -> None:
    settings.DEBUG, settings.ANONYMOUS_SUBMISSIONS = True, True
    file = SimpleUploadedFile("tasks.json", json.dumps([{"id": "p1", "task": "Do it.", "answer": "1"}]).encode())
    answer = Client().post("/api/tasks/upload", {"file": file})
    assert answer.json().get("message") == "Successfully uploaded 1 tasks", answer.content
    assert Client().get("/api/tasks/p1").json()["task"] == "Do it."
    (row,) = made(Client(), model="nothing")
    assert Client().delete(f"/api/rollouts/{row['id']}").json() == {"message": "Rollout deleted successfully"}


@pytest.mark.parametrize(
    ("debug", "headers"),
    [
        (False, {}),
        (True, {"Origin": "https://evil.example"}),
        (True, {"X-Forwarded-For": "192.0.2.7"}),
    ],
)
def test_elsewhere_a_token_is_needed(
    desk: Environment, settings: Settings, debug: bool, headers: dict[str, str]
) -> None:
    settings.DEBUG, settings.ANONYMOUS_SUBMISSIONS, settings.CORS_ORIGINS = debug, True, ["*"]
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": 1}
    body = {"task_id": "count", "model": "nothing"}
    assert Client().post("/api/rollouts", body, "application/json", headers=headers).status_code == 401


def test_a_front_end_of_another_origin_may_call(desk: Environment, settings: Settings) -> None:
    origin = "http://localhost:3000"
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    assert "Access-Control-Allow-Origin" not in Client().options("/api/rollouts", headers=asked)
    settings.CORS_ORIGINS = [origin]
    before = Client().options("/api/rollouts", headers=asked)
    assert (before.status_code, before["Access-Control-Allow-Origin"]) == (204, origin)
    assert re.search("POST", before["Access-Control-Allow-Methods"])
    assert "authorization" in before["Access-Control-Allow-Headers"]
    listed = Client().get("/api/tasks", headers={"Origin": origin})
    assert (listed["Access-Control-Allow-Origin"], "Origin" in listed["Vary"]) == (origin, True)
    for refused in ("/api/tasks", "/"):
        other = Client().get(refused, headers={"Origin": "https://evil.example"})
        assert "Access-Control-Allow-Origin" not in other
    assert "Access-Control-Allow-Credentials" not in listed
    settings.CORS_ORIGINS = ["*"]
    assert Client().get("/api/tasks", headers={"Origin": "https://any.example"})["Access-Control-Allow-Origin"] == "*"
