"""What members can find out about tasks that they may not read, and what their uploads cost others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from pytest_django.fixtures import Settings

from core.errors import QuotaExceeded, Refused
from core.jobs.turns import sort_key_of
from core.models import Acceptance, Environment, Rollout, User
from core.moderation.export import account_data
from core.rollouts.acceptance import acceptance_ask, acceptance_begin
from core.rollouts.batches import ranking_begin
from core.rollouts.board import board
from core.rollouts.figures import analytics, batch_figures
from core.rollouts.selectors import TaskFilter, task_get, tasks_current, tasks_filtered
from core.rollouts.tasks import tasks_upload
from core.tests import applications, factories
from core.tests.applications import finished

pytestmark = pytest.mark.django_db
GUESSES = [{"id": f"g{answer}", "task": "Count the stamps.", "answer": answer} for answer in range(10)]
SPIES = [{"id": f"s{answer}", "task": "Count the spies.", "answer": answer} for answer in range(10)]
LETTERS = [{"id": f"l{answer}", "task": "Count the letters.", "answer": answer, "oracle": applications.ORACLE,
            "tags": ["read"]} for answer in range(40, 45)]  # fmt: skip


@pytest.fixture(autouse=True)
def members(settings: Settings) -> None:
    settings.ROLLOUTS = "members"


@pytest.fixture
def ann() -> User:
    return factories.user("ann")


@pytest.fixture
def desk() -> Environment:
    return applications.package().environment


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def report(owner: User, desk: Environment, *tasks: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    data = json.dumps(tasks).encode()
    found: dict[str, Any] = tasks_upload(owner=owner, environment=desk, data=data, **options).file.report
    return found


@pytest.mark.parametrize("guesses", [GUESSES, SPIES, LETTERS])
def test_guesses_of_an_answer_all_look_the_same(desk: Environment, ann: User, guesses: list[dict[str, Any]]) -> None:
    keys = [str(task["id"]) for task in guesses]
    found = report(ann, desk, *guesses)
    assert (found["created"], found["duplicates"], found["foreign"]) == (keys, [], [])
    wanted = TaskFilter(duplicates=True)
    assert not tasks_filtered(tasks_current(ann, desk), wanted).exists()
    # Organisers, who read both, find the two that are equal.
    assert tasks_filtered(tasks_current(applications.organiser(), desk), wanted).count() == 2


def test_a_guess_under_the_id_of_a_task_is_not_told_from_a_wrong_one(desk: Environment, ann: User) -> None:
    right, wrong = (report(ann, desk, {**applications.TASKS[2], "split": "HIDDEN", "answer": n}) for n in (7, 8))
    assert right == wrong == {**right, "foreign": ["rank"], "unchanged": [], "created": []}
    (same,) = [{**applications.TASKS[0]}]
    assert report(ann, desk, same)["foreign"] == ["count"]


def test_the_id_of_a_hidden_task_is_as_good_as_any_other(desk: Environment, ann: User) -> None:
    bob, olga = factories.user("bob"), applications.organiser()
    report(bob, desk, {"id": "bobs", "task": "Mine.", "answer": 1, "split": "HIDDEN"})
    for key in ("secret", "bobs", "fresh"):
        assert report(ann, desk, {"id": key, "task": f"Do {key}.", "answer": 1})["created"] == [key]
        revised = report(ann, desk, {"id": key, "task": f"Do {key}.", "answer": 2})["revised"]
        assert revised == [{"id": key, "revision": 2}]
    # Each person finds their own task, and organisers theirs.
    assert task_get(ann, "secret", desk).instruction == "Do secret."
    assert task_get(olga, "secret", desk).instruction == "Count the spies."
    assert (task_get(bob, "bobs", desk).instruction, task_get(ann, "bobs", desk).instruction) == ("Mine.", "Do bobs.")
    # What others have done at the hidden one is not counted at it.
    finished(applications.batch(olga, desk, "secret").rollouts.get(task__file__uploaded_by=olga))
    assert "secret" not in analytics(desk, ann).often
    assert analytics(desk, olga).often["secret"] == "always"
    # The organisers still revise their own task by its id.
    assert report(olga, desk, {**applications.TASKS[3], "answer": 4})["revised"] == [{"id": "secret", "revision": 2}]


def test_members_put_no_tasks_on_the_board(desk: Environment, ann: User) -> None:
    ranking = {"id": "easy", "task": "Say 1.", "answer": 1, "split": "RANKING"}
    found = report(ann, desk, {"id": "bad"}, ranking, {"id": "mine", "task": "Say 2.", "answer": 2})
    assert found["created"] == ["mine"]
    assert [(each["index"], each["id"]) for each in found["skipped"]] == [(0, "bad"), (1, "easy")]
    assert "Only organisers put tasks on the board" in found["skipped"][1]["reason"]
    report(ann, desk, {"id": "own", "task": "Say 3.", "answer": 3, "split": "HIDDEN"})
    assert [task.key for task in board(desk).tasks] == ["rank", "secret"]
    # Without tasks for ranking those for practice rank, but none of a member.
    plain = applications.package(slug="plain", tasks=[applications.TASKS[0]]).environment
    report(ann, plain, {"id": "mine", "task": "Say 2.", "answer": 2})
    assert [task.key for task in board(plain).tasks] == ["count"]
    # Organisers who take the same id have a task of their own there, and the member's stays.
    ours = report(applications.organiser(), plain, {"id": "mine", "task": "Say 2.", "answer": 2, "split": "RANKING"})
    assert (ours["created"], ours["foreign"], ours["duplicates"]) == (["mine"], [], [])
    assert [task.name for task in board(plain).tasks] == ["count"]
    assert report(ann, plain, {"id": "mine", "task": "Say 3.", "answer": 3})["revised"] == [
        {"id": "mine", "revision": 2}
    ]


def test_tasks_of_two_authors_with_one_id_are_two_tasks_everywhere(desk: Environment, ann: User) -> None:
    olga = applications.organiser()
    report(ann, desk, {"id": "secret", "task": "Mine.", "answer": 1, "split": "HIDDEN"})
    rows = {row.member_id: row for row in applications.tasks(desk, "secret")}
    batch = applications.batch(olga, desk, "secret")
    theirs, hers = (batch.rollouts.get(task=rows[owner]) for owner in (None, ann.pk))
    finished(theirs)
    finished(hers, "NOT_SOLVED")
    assert batch_figures(batch.rollouts.all()).often == {"secret": "always", "secret@ann": "never"}
    assert analytics(desk, olga).often == {"secret": "always", "secret@ann": "never"}
    client = as_user(olga)
    page = client.get(f"/batches/{batch.public_id}/").content.decode()
    compared = client.get(f"/rollouts/compare/?first={theirs.public_id}&second={hers.public_id}")
    assert compared.context["is_same_task"] is False
    for address in (page, client.get("/organise/tasks/").content.decode()):
        assert 'href="/environments/desk/tasks/secret/"' in address
        assert 'href="/environments/desk/tasks/secret@ann/"' in address
    assert client.get("/environments/desk/tasks/secret@ann/").context["task"] == rows[ann.pk]
    assert client.get("/environments/desk/tasks/secret/").context["task"] == rows[None]
    assert as_user(factories.user("bob")).get("/environments/desk/tasks/secret@ann/").status_code == 404


def test_a_members_task_takes_the_place_of_no_other_one(desk: Environment, ann: User) -> None:
    """Mal is first to upload an id that the organisers and another member take later."""
    mal, olga = factories.user("mal"), applications.organiser()
    report(mal, desk, {"id": "squat", "task": "Mal's.", "answer": 1})
    report(olga, desk, {"id": "squat", "task": "Olga's.", "answer": 2, "split": "RANKING"})
    rows = {row.member_id: row for row in applications.tasks(desk, "squat")}
    theirs = {"squat": rows[None], "squat@mal": rows[mal.pk]}
    client, posts = as_user(ann), {"agent": "nothing", "environment": "desk"}
    for name, task in theirs.items():
        shown = client.get(f"/api/tasks/{name}").json()
        assert (shown["id"], shown["task"]) == (name, task.instruction)
        assert client.get(f"/environments/desk/tasks/{name}/").context["task"] == task
        (made,) = client.post("/api/rollouts", {"task_id": name, "model": "nothing"}, "application/json").json()
        assert (made["task_id"], Rollout.objects.get(public_id=made["id"]).task) == (name, task)
        batch = client.post("/api/v1/batches/", {**posts, "tasks": [name]}, "application/json").json()
        assert [row.task for row in Rollout.objects.filter(batch__public_id=batch["id"])] == [task]
        assert client.get(f"/environments/desk/batches/new/?task={name}").context["tasks"] == [task]
        for address in (f"/api/rollouts?task_id={name}", f"/api/tasks/{name}/jobs"):
            assert {row["task_id"] for row in client.get(address).json()} == {name}
        found = client.get(f"/api/v1/rollouts/?task={name}").json()["results"]
        assert [row["task"] for row in found] == [name, name]
        assert {row["task"] for row in client.get(f"/api/v1/rollouts/export.json?task={name}").json()["results"]} == {
            name
        }
    assert {"squat", "squat@mal"} <= {row["id"] for row in client.get("/api/v1/tasks/").json()["results"]}
    # Mal's own task is the one that the key means to mal alone.
    assert as_user(mal).get("/api/tasks/squat").json()["id"] == "squat@mal"
    assert client.get("/api/tasks/squat@ann").status_code == 404
    refused = client.post("/api/v1/batches/", {**posts, "tasks": ["squat@ann"]}, "application/json")
    assert refused.json()["tasks"] == ["There is no task squat@ann that you may see."]
    # Organisers have a member's task tested by its whole name.
    with pytest.raises(Refused):
        acceptance_ask(by=olga, environment=desk, names=["squat"])
    assert acceptance_ask(by=olga, environment=desk, names=["squat@mal"]) == 1


def test_a_members_task_blocks_its_id_for_no_other_member(desk: Environment, ann: User) -> None:
    report(factories.user("mal"), desk, {"id": "squat", "task": "Mal's.", "answer": 1})
    found = report(ann, desk, {"id": "squat", "task": "Ann's.", "answer": 2})
    assert (found["created"], found["foreign"]) == (["squat"], [])
    assert task_get(ann, "squat").instruction == "Ann's."


def test_tasks_of_members_are_tested_on_request_at_their_cost_and_last(
    settings: Settings, midday: None, desk: Environment, ann: User
) -> None:
    before = Rollout.objects.count()
    tasks = [{"id": f"t{n}", "task": f"Say {n}.", "answer": n, "oracle": [["answer", n]]} for n in range(3)]
    report(ann, desk, *tasks)
    assert Rollout.objects.count() == before
    # Neither a new package nor organisers who have all tasks tried again make rollouts at them.
    acceptance_begin(package=desk.packages.get(), again=True)
    assert Rollout.objects.filter(task__key="t0").count() == 0
    settings.QUOTAS = {**settings.QUOTAS, "rollouts_per_day": 4}
    with pytest.raises(QuotaExceeded, match="asked for 6 rollouts"):
        acceptance_ask(by=ann, environment=desk)
    assert acceptance_ask(by=ann, environment=desk, names=["t0", "count"]) == 1
    assert acceptance_ask(by=ann, environment=desk, names=["t1"]) == 1
    with pytest.raises(QuotaExceeded):
        applications.batch(ann, desk, "count")
    bob = factories.user("bob")
    asked = applications.batch(bob, desk, "count").rollouts.get()
    tests = Rollout.objects.filter(task__key__in=("t0", "t1"))
    assert min(test.sort_key for test in tests) > max(asked.sort_key, sort_key_of(10_000))
    for test in tests.filter(task__key="t0").select_related("batch"):
        finished(test, "SOLVED" if test.batch.agent_kind == "SCRIPTED" else "NOT_SOLVED")
    assert task_get(ann, "t0", desk).acceptance == Acceptance.ACCEPTED


def test_a_member_has_tasks_tested_on_their_page_and_by_the_api(desk: Environment, ann: User) -> None:
    report(ann, desk, *({"id": f"t{n}", "task": f"Say {n}.", "answer": n} for n in range(3)))
    client = as_user(ann)
    assert "Test 3 untested tasks" in client.get("/environments/desk/tasks/").content.decode()
    assert 'name="test" value="t0@ann"' in client.get("/environments/desk/tasks/t0/").content.decode()
    assert 'name="test"' not in client.get("/environments/desk/tasks/count/").content.decode()
    page = client.post("/environments/desk/tasks/", {"test": "t0"}, follow=True).content.decode()
    assert "One task is tested as soon as no other rollout waits." in page
    answer = client.post("/api/v1/tasks/tests/", {"environment": "desk"}, "application/json")
    assert answer.json() == {"tasks": 2}
    assert Rollout.objects.filter(batch__owner=ann).count() == 3
    refused = client.post("/api/v1/tasks/tests/", {"environment": "desk", "tasks": ["count"]}, "application/json")
    assert refused.status_code == 400
    assert "There is no task of yours" in refused.content.decode()


def test_the_list_of_jobs_shows_no_rollout_that_lists_of_rollouts_leave_out(desk: Environment, ann: User) -> None:
    olga = applications.organiser()
    shown = applications.batch(ann, desk, "count").rollouts.get()
    hidden = applications.batch(olga, desk, "secret").rollouts.get()
    deleted = applications.batch(ann, desk, "open").rollouts.get()
    Rollout.objects.filter(pk=deleted.pk).update(hidden_at=factories.NOON)
    trial = Rollout.objects.filter(batch__purpose="ACCEPTANCE").order_by("pk")[0]
    for viewer in (Client(), as_user(ann)):
        rows = viewer.get("/api/v1/jobs/rollout/").json()["results"]
        assert [row["id"] for row in rows] == [shown.pk]
        for row, status in ((shown, 200), (hidden, 404), (deleted, 404), (trial, 404)):
            assert viewer.get(f"/api/v1/jobs/rollout/{row.pk}/").status_code == status
            assert viewer.get(f"/api/v1/jobs/rollout/{row.pk}/log/").status_code == (403 if status == 200 else 404)
    rows = as_user(olga).get("/api/v1/jobs/rollout/").json()["results"]
    assert {hidden.pk, trial.pk, shown.pk} <= {row["id"] for row in rows}


def test_the_file_of_an_account_has_no_rollout_that_its_person_does_not_see(desk: Environment, ann: User) -> None:
    report(ann, desk, {"id": "mine", "task": "Say 1.", "answer": 1})
    with transaction.atomic():
        assert ranking_begin(submission=applications.version(factories.agent(ann, desk))) is not None
    data = account_data(ann)
    assert {row["task__key"] for row in data["rollouts"]} == {"rank"}
    assert [(row["key"], row["definition"]["answer"]) for row in data["tasks"]] == [("mine", 1)]


def test_the_code_of_a_verdict_is_for_those_who_see_the_work(desk: Environment, ann: User) -> None:
    olga = applications.organiser()
    finished(applications.batch(olga, desk, "rank").rollouts.get(), "NOT_SOLVED")

    def codes(viewer: Client) -> list[str]:
        return [row["code"] for row in viewer.get("/api/v1/rollouts/export.json").json()["results"]]

    assert codes(Client()) == codes(as_user(ann)) == [""]
    assert "check_failed" in codes(as_user(olga))
