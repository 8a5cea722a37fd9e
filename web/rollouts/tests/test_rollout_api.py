"""The API of applications: the dashboard's addresses and sentences, and the native one."""

from __future__ import annotations

import gzip
import json
import uuid
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.fixtures import Settings

from core.models import Environment, Rollout, RolloutAgent, Task, User
from core.rollouts.batches import AgentChoice
from core.tests import applications, factories
from core.tests.applications import finished, running
from web.rollouts.tests.recorded import recorded

pytestmark = pytest.mark.django_db
STEP = {
    "number": 1, "at_ms": 5, "action": {"action": "click", "ref": "e1"}, "note": "Go\n\nevent: end", "error": "",
    "url": "http://web:8000/", "title": "Desk", "snapshot_sha256": "", "picture": "", "agent_ms": 1, "act_ms": 2,
    "tokens": 30, "cost_micros": 4, "requests": [], "target": {},
}  # fmt: skip


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


def sent(name: str, data: Any) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data if isinstance(data, bytes) else json.dumps(data).encode())


def test_a_client_of_the_dashboard_uploads_lists_and_reads_tasks(desk: Environment, ann: User) -> None:
    client = as_user(ann)
    file = sent("tasks.json", [{"id": "mine", "task": "Do it.", "answer": '{"a": 1}'}, {"task": "no id"}])
    answer = client.post("/api/tasks/upload", {"file": file}).json()
    assert (answer["message"], answer["count"]) == ("Successfully uploaded 1 tasks", 1)
    assert answer["skipped"][0]["index"] == 1
    listed = {row["id"]: row for row in client.get("/api/tasks").json()}
    assert set(listed) == {"mine@ann", "count", "open", "rank"}
    assert (listed["mine@ann"]["answer"], listed["count"]["answer"]) == ('{"a": 1}', None)
    assert {"rollout_count", "success_count", "completed_count", "job_count", "created_at"} <= set(listed["mine@ann"])
    assert client.get("/api/tasks/mine/").json()["task"] == "Do it."
    gone = client.get("/api/tasks/secret")
    assert (gone.status_code, gone.json()["detail"]) == (404, "Task not found")


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"{", "Invalid JSON file"), (b"\xff", "Invalid JSON file"), ({"a": 1}, "JSON must be an array of tasks")],
)
def test_a_file_that_is_no_list_of_tasks_is_refused_in_the_dashboards_words(
    desk: Environment, ann: User, data: Any, said: str
) -> None:
    answer = as_user(ann).post("/api/tasks/upload", {"file": sent("tasks.json", data)})
    assert (answer.status_code, answer.json()["detail"]) == (400, said)


def test_strangers_read_and_write_nothing_of_their_own(desk: Environment) -> None:
    assert Client().get("/api/tasks").status_code == 200
    file = sent("tasks.json", [])
    assert Client().post("/api/tasks/upload", {"file": file}).status_code == 401
    assert Client().post("/api/rollouts", {"task_id": "count"}, "application/json").status_code == 401
    assert Client().delete(f"/api/jobs/{uuid.uuid4()}").status_code in (401, 403)


def test_rollouts_of_the_dashboard_are_made_listed_read_and_deleted(desk: Environment, ann: User) -> None:
    client = as_user(ann)
    asked = {"task_id": "count", "model": "nothing", "attempts": 2}
    first, second = client.post("/api/rollouts", asked, "application/json").json()
    assert (first["status"], first["task_id"], first["job_id"] == second["job_id"]) == ("pending", "count", True)
    done = finished(Rollout.objects.get(public_id=first["id"]), "SOLVED")
    running(Rollout.objects.get(public_id=second["id"]))
    shown = client.get(f"/api/rollouts/{done.public_id}").json()
    assert (shown["status"], shown["success"], shown["parsed_json"], shown["result"]) == (
        "success", True, "42", "42",
    )  # fmt: skip
    assert [row["id"] for row in client.get("/api/rollouts?status=provisioning").json()] == [second["id"]]
    assert len(client.get(f"/api/rollouts?task_id=count&job_id={first['job_id']}").json()) == 2
    assert client.get("/api/rollouts?status=what").status_code == 400
    job = client.get(f"/api/jobs/{first['job_id']}").json()
    assert (job["rollout_count"], job["success_count"], len(job["rollouts"])) == (2, 1, 2)
    assert client.get("/api/tasks/count/jobs").json()[0]["id"] == first["job_id"]
    stats = client.get("/api/compute/stats?task_id=count").json()
    assert (stats["total_rollouts"], stats["completed"], stats["provisioning"], stats["success_count"]) == (2, 1, 1, 1)
    deleted = client.delete(f"/api/rollouts/{second['id']}").json()
    assert deleted == {"message": "Rollout deleted successfully"}
    assert Rollout.objects.get(public_id=second["id"]).state == "CANCELLED"
    assert as_user(factories.user("bob")).delete(f"/api/jobs/{first['job_id']}").status_code == 403
    assert client.delete(f"/api/jobs/{first['job_id']}").status_code == 200
    missing = client.get(f"/api/rollouts/{first['id']}")
    assert (missing.status_code, missing.json()["detail"]) == (404, "Rollout not found")


def test_the_dashboards_error_tells_the_expected_answer_to_those_alone_who_may_see_it(
    desk: Environment, ann: User
) -> None:
    rollout = finished(applications.batch(ann, desk, "rank").rollouts.get(), "NOT_SOLVED")
    errors = {
        name: [client.get(f"/api/rollouts/{rollout.public_id}").json()["error"],
               *(row["error"] for row in client.get("/api/rollouts?task_id=rank").json())]
        for name, client in {
            "owner": as_user(ann), "stranger": Client(), "organiser": as_user(applications.organiser())
        }.items()
    }  # fmt: skip
    assert errors == {"owner": [None] * 2, "stranger": [None] * 2, "organiser": ["7 is not 42"] * 2}


def test_a_job_counts_its_rollouts_at_the_task_once_as_the_dashboard_does(desk: Environment, ann: User) -> None:
    batch = applications.batch(ann, desk, "count", "rank", attempts=3)
    solved, failed, cancelled = batch.rollouts.filter(task__key="count").order_by("pk")
    finished(solved, "SOLVED")
    finished(failed, "NOT_SOLVED")
    client = as_user(ann)
    client.delete(f"/api/v1/rollouts/{cancelled.public_id}/")
    (job,) = client.get("/api/tasks/count/jobs").json()
    names = ("rollout_count", "completed_count", "success_count", "running_count")
    assert [job[name] for name in names] == [3, 3, 1, 0]
    assert client.delete(f"/api/rollouts/{failed.public_id}").status_code == 200
    (job,) = client.get("/api/tasks/count/jobs").json()
    assert [job[name] for name in names] == [2, 2, 1, 0]
    whole = client.get(f"/api/jobs/{batch.public_id}").json()
    assert (whole["rollout_count"], len(whole["rollouts"])) == (5, 5)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"task_id": "none", "model": "nothing"}, 404),
        ({"task_id": "secret", "model": "nothing"}, 404),
        ({"task_id": "count"}, 400),
        ({"task_id": "open", "model": "oracle"}, 400),
        ({"task_id": "count", "model": "agent:none"}, 400),
        ({}, 400),
    ],
)
def test_rollouts_that_cannot_be_are_refused(desk: Environment, ann: User, asked: Any, status: int) -> None:
    answer = as_user(ann).post("/api/rollouts", asked, "application/json")
    assert answer.status_code == status, answer.content
    assert not Rollout.objects.filter(batch__owner=ann).exists()


def test_the_native_api_makes_a_batch_and_shows_its_figures(desk: Environment, ann: User) -> None:
    applications.model("mimic")
    client = as_user(ann)
    asked = {"environment": "desk", "tasks": ["count", "rank"], "agent": "mimic", "attempts": 2, "note": "try"}
    made = client.post("/api/v1/batches/", asked, "application/json")
    assert made.status_code == 201, made.content
    for rollout in Rollout.objects.filter(batch__owner=ann, task__key="count"):
        finished(rollout, "SOLVED", cost=10)
    shown = client.get(f"/api/v1/batches/{made.json()['id']}/").json()
    assert (shown["agent"], shown["rollout_count"], shown["solved_count"]) == ("mimic", 4, 2)
    assert shown["any_of"]["1"]["value"] == 1.0
    assert shown["summary"]["cost_per_solved"] == 1e-5
    assert shown["often"] == {"count": "always"}
    cancelled = client.post(f"/api/v1/batches/{made.json()['id']}/cancel/")
    assert cancelled.json() == {"cancelled": 2}
    assert [row["name"] for row in client.get("/api/v1/models/").json()["results"]] == ["mimic"]
    typo = client.post("/api/v1/batches/", {**asked, "limits": {"stepz": 3}}, "application/json")
    assert (typo.status_code, "stepz" in str(typo.json())) == (400, True)
    lost = client.post("/api/v1/batches/", {**asked, "tasks": ["secret"]}, "application/json")
    assert (lost.status_code, "secret" in str(lost.json())) == (400, True)


def test_hashes_by_which_an_answer_could_be_found_are_for_those_who_see_it(desk: Environment, ann: User) -> None:
    """With the instruction one could try answers until the fingerprint is the same."""
    row = Task.objects.get(environment=desk, key="rank", is_current=True)
    seen = {}
    for name, client in {
        "stranger": Client(), "other": as_user(ann), "organiser": as_user(applications.organiser())
    }.items():  # fmt: skip
        (task,) = (one for one in client.get("/api/v1/tasks/").json()["results"] if one["id"] == "rank")
        seen[name] = [task["fingerprint"], task["work_sha256"], task["definition"]]
    assert seen == {
        "stranger": [None] * 3, "other": [None] * 3,
        "organiser": [row.fingerprint, row.work_sha256, row.definition],
    }  # fmt: skip


def test_lists_have_filters_and_downloads(desk: Environment, ann: User) -> None:
    finished(applications.batch(ann, desk, "count").rollouts.get())
    client = as_user(ann)
    assert [row["id"] for row in client.get("/api/v1/tasks/?environment=desk&tag=read").json()["results"]] == ["count"]
    assert [row["id"] for row in client.get("/api/v1/tasks/?often=always").json()["results"]] == ["count"]
    assert client.get("/api/v1/tasks/?often=seldom").status_code == 400
    assert client.get("/api/v1/rollouts/?outcome=SOLVED&task=count").json()["count"] == 1
    table = client.get("/api/v1/rollouts/export.csv?task=count").content.decode()
    assert table.splitlines()[0].startswith("id,batch,environment,task")
    assert len(table.splitlines()) == 2
    assert client.get("/api/v1/rollouts/export.json").json()["count"] == 1
    assert client.get("/api/v1/rollouts/export.xml").status_code == 404
    assert client.get("/api/v1/packages/").json()["results"][0]["build"] == "SUCCEEDED"
    assert client.get("/api/v1/applications/").json() == [{"slug": "desk", "name": "Desk", "is_available": True}]
    assert client.get("/api/v1/applications/desk/board/").json()["task_count"] == 2
    assert client.get("/api/v1/applications/desk/analytics/").json()["often"] == {"count": "always"}


def test_organisers_upload_packages(ann: User) -> None:
    refused = as_user(ann).post("/api/v1/packages/", {"archive": applications.packed()})
    assert refused.status_code == 400
    made = as_user(applications.organiser()).post("/api/v1/packages/", {"archive": applications.packed()})
    assert (made.status_code, made.json()["number"], made.json()["build"]) == (201, 1, "QUEUED")


def of_ranking(ann: User, desk: Environment) -> Rollout:
    steps = default_storage.save("rollouts/x/steps.jsonl.gz", ContentFile(gzip.compress(json.dumps(STEP).encode())))
    export = default_storage.save("rollouts/x/export.zip", ContentFile(b"zip"))
    return finished(applications.batch(ann, desk, "rank").rollouts.get(), "NOT_SOLVED", steps=steps, export=export)


def test_steps_verdicts_and_files_are_for_those_who_may_see_them(desk: Environment, ann: User) -> None:
    rollout = of_ranking(ann, desk)
    base = f"/api/v1/rollouts/{rollout.public_id}"
    own, other, olga = as_user(ann), as_user(factories.user("bob")), as_user(applications.organiser())
    assert own.get(f"{base}/steps/").json()["steps"][0]["note"] == STEP["note"]
    assert [client.get(f"{base}/steps/").status_code for client in (other, olga, Client())] == [403, 200, 403]
    assert [client.get(f"{base}/files/export/").status_code for client in (own, other)] == [403, 403]
    for client, name in ((olga, "export"), (own, "steps")):
        file = client.get(f"{base}/files/{name}/")
        assert (file.status_code, file["Content-Disposition"][:10]) == (200, "attachment")
        assert file.getvalue()
    assert own.get(f"{base}/files/video/").status_code == 404
    assert own.get(f"{base}/files/password/").status_code == 404
    (mine,), (theirs,) = (client.get(f"{base}/verdicts/").json() for client in (own, olga))
    assert "expected" not in mine["checks"][0]
    assert (mine["sentence"], theirs["sentence"], theirs["checks"][0]["expected"]) == ("", "7 is not 42", "42")
    assert other.get(f"{base}/").json()["answer"] is None
    assert own.get(f"{base}/").json()["files"] == ["steps"]


def test_people_who_let_the_oracle_of_a_ranking_task_play_do_not_read_its_solution(ann: User) -> None:
    task = {"id": "rank", "task": "Count.", "answer": 7, "split": "RANKING", "oracle": applications.ORACLE}
    desk = applications.package(tasks=[task, {**task, "id": "open", "task": "Look.", "split": "PRACTICE"}]).environment
    batch = applications.batch(ann, desk, "rank", "open", choice=AgentChoice(RolloutAgent.SCRIPTED))
    statuses, answers = {}, {}
    for rollout in [finished(each) for each in batch.rollouts.all()]:
        for name, client in {"owner": as_user(ann), "organiser": as_user(applications.organiser())}.items():
            key, base = (rollout.task.key, name), f"/api/v1/rollouts/{rollout.public_id}/"
            statuses[key] = [client.get(f"{base}{part}").status_code for part in ("", "steps/", "events/", "export/")]
            answers[key] = [
                client.get(base).json()["answer"],
                client.get(f"/api/rollouts/{rollout.public_id}").json()["result"],
            ]
    assert (statuses.pop(("rank", "owner")), answers.pop(("rank", "owner"))) == ([200, 403, 403, 403], [None, None])
    assert list(statuses.values()) == [[200] * 4] * 3
    assert list(answers.values()) == [[42, "42"]] * 3
    page = as_user(ann).get(f"/rollouts/{batch.rollouts.get(task__key='rank').public_id}/").content.decode()
    assert "is for its author and for organisers" in page


def test_a_log_is_read_as_atif_and_as_the_dashboard_has_it(desk: Environment, ann: User) -> None:
    rollout = of_ranking(ann, desk)
    client, base = as_user(ann), f"/api/v1/rollouts/{rollout.public_id}/export/"
    atif = client.get(base).json()
    assert (atif["schema_version"], atif["steps"][0]["source"]) == ("ATIF-v1.8", "user")
    step = atif["steps"][1]
    assert (step["tool_calls"][0]["function_name"], step["llm_call_count"]) == ("click", 0)
    assert atif["final_metrics"]["total_prompt_tokens"] == 100
    log = client.get(f"{base}?form=dashboard").json()
    assert log["steps"][0]["function_calls"] == [{"name": "click", "args": {"ref": "e1"}}]
    assert (log["final"], log["total_steps"]) == ({"parsed_output": 42, "is_final": True}, 3)
    assert client.get(f"{base}?form=else").status_code == 400


def test_the_dashboards_log_has_the_calls_as_they_were_sent(desk: Environment, ann: User) -> None:
    call = {"name": "click_at", "args": {"x": 500, "y": 20}}
    sent = {**STEP, "action": {"action": "click", "x": 500, "y": 20, "scale": 1000}, "sent": json.dumps(call)}
    refused = {**STEP, "number": 2, "action": {}, "sent": json.dumps({**call, "name": "fly"}), "error": "No."}
    lines = "\n".join(json.dumps(step) for step in (sent, refused, {**STEP, "sent": "[1"}))
    kept = default_storage.save("rollouts/x/steps.jsonl.gz", ContentFile(gzip.compress(lines.encode())))
    rollout = finished(applications.batch(ann, desk, "count").rollouts.get(), steps=kept)
    log = as_user(ann).get(f"/api/v1/rollouts/{rollout.public_id}/export/?form=dashboard").json()
    assert [(step["function_calls"], step["error"]) for step in log["steps"]] == [
        ([call], None), ([{**call, "name": "fly"}], "No."), ([{"name": "click", "args": {"ref": "e1"}}], None),
    ]  # fmt: skip


def test_a_batch_is_read_as_atif_by_those_who_see_what_its_agent_did(desk: Environment, ann: User) -> None:
    rollout = of_ranking(ann, desk)
    batch, client = rollout.batch, as_user(ann)
    address = f"/api/v1/batches/{batch.public_id}/export/"
    answer: Any = client.get(address)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/jsonl")
    lines = [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]
    assert lines == [client.get(f"/api/v1/rollouts/{rollout.public_id}/export/").json()]
    # Others see the outcome at a ranking task, and not what was done.
    other: Any = as_user(factories.user("zoe")).get(address)
    assert (other.status_code, b"".join(other.streaming_content)) == (200, b"")
    assert rollout.steps.name
    default_storage.delete(rollout.steps.name)
    gone: Any = client.get(address)
    assert b"".join(gone.streaming_content) == b""


def test_events_tell_what_is_new_and_end(desk: Environment, ann: User) -> None:
    rollout = applications.batch(ann, desk, "count", choice=AgentChoice(RolloutAgent.NULL)).rollouts.get()
    running(rollout)
    live = {"steps": [STEP, {**STEP, "number": 2}], "count": 2}
    Rollout.objects.filter(pk=rollout.pk).update(live=live, phase="WORKING", step_count=2)
    client, address = as_user(ann), f"/api/v1/rollouts/{rollout.public_id}/events/"
    first = client.get(address)
    text = first.content.decode()
    assert first["Content-Type"].startswith("text/event-stream")
    assert [line for line in text.splitlines() if line.startswith("id:")] == ["id: 1", "id: 2"]
    # What an agent wrote cannot pass for an event.
    assert "event: end" not in text.splitlines()
    again = client.get(address, headers={"Last-Event-ID": "1"}).content.decode()
    assert [line for line in again.splitlines() if line.startswith("id:")] == ["id: 2"]
    Rollout.objects.filter(pk=rollout.pk).update(live={})
    finished(Rollout.objects.get(pk=rollout.pk))
    assert "event: end" in client.get(address).content.decode().splitlines()


def test_a_stored_log_is_read_within_a_limit_and_not_behind_its_end(
    desk: Environment, ann: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollout = applications.batch(ann, desk, "count", choice=AgentChoice(RolloutAgent.NULL)).rollouts.get()
    running(rollout)
    recorded(rollout)
    Rollout.objects.filter(pk=rollout.pk).update(step_count=6)
    limit = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]["results"]
    client, address = as_user(ann), f"/api/v1/rollouts/{rollout.public_id}/events/"
    with monkeypatch.context() as patched:
        patched.setattr("core.rollouts.records._lines", None)
        for _ in range(int(limit.partition("/")[0]) + 5):
            behind = client.get(address, headers={"Last-Event-ID": "9999999"})
            assert "event: end" in behind.content.decode().splitlines()
    given = [client.get(address).status_code for _ in range(int(limit.partition("/")[0]) + 1)]
    assert given == [200] * (len(given) - 1) + [429]


def test_events_of_a_batch_tell_how_far_it_is_and_end(desk: Environment, ann: User) -> None:
    batch = applications.batch(ann, desk, "count", attempts=2, choice=AgentChoice(RolloutAgent.NULL))
    first, second = batch.rollouts.order_by("pk")
    running(first)
    Rollout.objects.filter(pk=first.pk).update(phase="WORKING")
    client, address = as_user(ann), f"/api/v1/batches/{batch.public_id}/events/"
    answer = client.get(address)
    assert answer["Content-Type"].startswith("text/event-stream")
    told = {"rollouts": 2, "over": 0, "phases": {"WORKING": 1}}
    assert answer.content.decode() == f"retry: 2000\n\nevent: progress\ndata: {json.dumps(told)}\n\n"
    for rollout in (first, second):
        finished(Rollout.objects.get(pk=rollout.pk))
    assert client.get(address).content.decode().endswith('event: end\ndata: {"rollouts": 2, "over": 2}\n\n')
    assert client.get(f"/api/v1/batches/{first.public_id}/events/").status_code == 404


def test_a_batch_counts_no_rollouts_that_are_not_shown(desk: Environment, ann: User) -> None:
    olga = applications.organiser()
    both, hidden = applications.batch(olga, desk, "count", "secret"), applications.batch(olga, desk, "secret")
    for rollout in Rollout.objects.filter(batch__in=[both, hidden]):
        finished(rollout, "SOLVED")
    shown = {
        client: [(row["id"], row["rollout_count"], row["solved_count"])
                 for row in each.get("/api/v1/batches/?owner=olga").json()["results"] if row["purpose"] == "ASKED"]
        for client, each in {"ann": as_user(ann), "stranger": Client(), "olga": as_user(olga)}.items()
    }  # fmt: skip
    mine, theirs = (str(both.public_id), 1, 1), (str(both.public_id), 2, 2)
    assert shown == {"ann": [mine], "stranger": [mine], "olga": [(str(hidden.public_id), 1, 1), theirs]}
    assert as_user(ann).get(f"/api/v1/batches/{hidden.public_id}/").status_code == 404
    assert '"rollouts": 1' in Client().get(f"/api/v1/batches/{both.public_id}/events/").content.decode()


def test_a_batch_shows_no_rollouts_that_were_deleted(desk: Environment, ann: User) -> None:
    batch = applications.batch(ann, desk, "count", attempts=2)
    first, second = (finished(rollout, "SOLVED") for rollout in batch.rollouts.order_by("pk"))
    client = as_user(ann)
    assert client.delete(f"/api/rollouts/{first.public_id}").status_code == 200
    page = client.get(f"/batches/{batch.public_id}/").content.decode()
    assert (str(first.public_id) in page, str(second.public_id) in page) == (False, True)
    assert client.get(f"/api/v1/batches/{batch.public_id}/").json()["summary"]["attempts"] == 1
