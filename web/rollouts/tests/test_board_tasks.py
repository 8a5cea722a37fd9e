"""Organisers choose the tasks of a board, and archive and delete tasks, on pages and by the API."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.models import AuditEntry, Environment, Task, User
from core.rollouts.board import board
from core.tests import applications, factories

pytestmark = pytest.mark.django_db
BOARD, TASKS = "/api/v1/applications/desk/board/", "/api/v1/applications/desk/tasks/"
PAGE = "/environments/desk/tasks/"


@pytest.fixture(autouse=True)
def members(settings: Settings) -> None:
    settings.ROLLOUTS = "members"


@pytest.fixture
def desk(db: None) -> Environment:
    environment = applications.package().environment
    applications.uploaded(applications.organiser(), environment, {"id": "new", "task": "Say 9.", "answer": 9})
    return environment


@pytest.fixture
def ann(db: None) -> User:
    return factories.user("ann")


@pytest.fixture
def olga(desk: Environment) -> Client:
    return as_user(applications.organiser())


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def ranking(environment: Environment) -> list[str]:
    return [task.key for task in board(environment).tasks]


def test_the_api_chooses_the_tasks_of_a_board(desk: Environment, olga: Client, ann: User) -> None:
    shown: Any = Client().get(BOARD).json()
    assert (shown["version"], shown["tasks"]) == (1, [{"id": "rank", "revision": 1}]), "hidden tasks are not named"
    assert (shown["task_count"], shown["hidden_count"]) == (2, 1)
    made = olga.post(BOARD, {"tasks": ["new", "secret"]}, "application/json")
    assert (made.status_code, made.json()["version"], ranking(desk)) == (201, 2, ["secret", "new"])
    assert AuditEntry.objects.get(action="choose_tasks").operator == "olga"
    assert Client().get(f"{BOARD}?version=1").json()["tasks"] == shown["tasks"]
    for missing in (3, 10**30):
        unknown = Client().get(f"{BOARD}?version={missing}")
        assert (unknown.status_code, unknown.json()) == (404, {"detail": f"This board has no version {missing}."})
    refused = [
        as_user(ann).post(BOARD, {"tasks": ["new"]}, "application/json"),
        *(olga.post(BOARD, {"tasks": tasks}, "application/json") for tasks in ([], ["none"], ["open"])),
    ]
    codes = ["not_yours", "no_tasks", "task_not_found", "cannot_rank"]
    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(400, code) for code in codes]
    assert Client().post(BOARD, {"tasks": ["new"]}, "application/json").status_code == 401
    assert Client().get(f"{BOARD}?version=x").status_code == 400


def test_the_api_archives_brings_back_and_deletes(desk: Environment, olga: Client, ann: User) -> None:
    address = f"{TASKS}new/"
    archived = olga.patch(address, {"archived": True}, "application/json").json()
    assert archived["archived_at"] is not None
    assert "new" not in [row["id"] for row in Client().get("/api/v1/tasks/").json()["results"]]
    assert [row["id"] for row in Client().get("/api/v1/tasks/?archived=true").json()["results"]] == ["new"]
    assert olga.patch(address, {"archived": False}, "application/json").json()["archived_at"] is None
    assert as_user(ann).delete(address).json()["code"] == "not_yours"
    assert olga.delete(f"{TASKS}count/").json()["code"] == "has_results"
    assert olga.patch(f"{TASKS}rank/", {"archived": True}, "application/json").json()["code"] == "on_board"
    applications.uploaded(ann, desk, {"id": "mine", "task": "Say 8.", "answer": 8})
    assert as_user(ann).delete(f"{TASKS}mine/").status_code == 204
    assert Client().get(f"{TASKS}mine/").status_code == 404
    assert Client().get(f"{TASKS}secret/").status_code == 404


def test_the_page_of_tasks_chooses_what_ranks(desk: Environment, olga: Client, ann: User) -> None:
    text = olga.get(PAGE).content.decode()
    assert "Choose the tasks that rank agents" in text
    assert "Choose the tasks that rank agents" not in as_user(ann).get(PAGE).content.decode()
    new = desk.tasks.get(key="new")
    assert olga.post(PAGE, {"choose": "1", "board": [new.pk]}).status_code == 302
    assert ranking(desk) == ["new"]
    said = olga.get(PAGE).content.decode()
    assert "The board ranks agents by version 2 of its tasks." in said
    assert as_user(ann).post(PAGE, {"choose": "1", "board": [new.pk]}).status_code == 403
    for wrong in ({"choose": "1"}, {"choose": "1", "board": ["999999"]}):
        olga.post(PAGE, wrong)
    assert (ranking(desk), board(desk).version) == (["new"], 2)
    assert "version 2:" in " ".join(olga.get("/environments/desk/").content.decode().split())


def test_the_page_of_a_task_archives_brings_back_and_deletes(desk: Environment, olga: Client, ann: User) -> None:
    applications.uploaded(ann, desk, {"id": "mine", "task": "Say 8.", "answer": 8})
    page, own = f"{PAGE}mine@ann/", as_user(ann)
    assert "Not needed any more?" in own.get(page).content.decode()
    assert 'data-confirm="Delete this task?' in own.get(page).content.decode()
    assert "Not needed any more?" not in as_user(factories.user("bob")).get(page).content.decode()
    assert own.post(page, {"act": "archive"}).status_code == 302
    assert "This task is archived." in own.get(page).content.decode()
    assert own.post(page, {"act": "restore"}).status_code == 302
    assert Task.objects.get(key="mine").archived_at is None
    assert own.post(page, {"act": "delete"}).status_code == 302
    assert not Task.objects.filter(key="mine").exists()
    assert not AuditEntry.objects.filter(action="delete").exists(), "members' own acts are not organisers'"
    assert as_user(ann).post(f"{PAGE}count/", {"act": "archive"}).status_code == 302
    assert desk.tasks.get(key="count").archived_at is None
    assert (
        "Only organisers and the member"
        in as_user(ann).post(f"{PAGE}count/", {"act": "archive"}, follow=True).content.decode()
    )


def test_the_number_of_tasks_on_the_page_is_that_of_now(desk: Environment, olga: Client, kept_answers: None) -> None:
    def shown(name: str) -> int:
        page = as_user(factories.user(name)).get("/environments/desk/").content.decode()
        [count] = re.findall(r"<dt>Tasks</dt><dd>(\d+)</dd>", page)
        return int(count)

    before = shown("ben")
    Task.objects.filter(key="new").update(archived_at=timezone.now())
    assert shown("eve") == before - 1
