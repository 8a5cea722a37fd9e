"""Organisers move waiting jobs in their line through the API; other users may not."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from core.models import AuditEntry, Build, JobState, Submission
from core.tests import factories
from core.tests.factories import Cast
from web.jobs.tests.test_cancelling import program

pytestmark = pytest.mark.django_db


@pytest.fixture
def build(cast: Cast) -> Build:
    submission: Submission = factories.submission(factories.agent(cast.alice, factories.environment(), "anna"))
    return factories.build(submission, JobState.QUEUED)


def put(client: Client, build: Build, priority: object) -> tuple[int, dict[str, object]]:
    answer = client.put(
        f"/api/v1/jobs/build/{build.pk}/priority/", {"priority": priority}, content_type="application/json"
    )
    return answer.status_code, answer.json()


def test_an_organiser_sets_a_priority_that_lists_show_and_the_audit_log_keeps(cast: Cast, build: Build) -> None:
    organiser = program(cast.olga)
    turn = build.sort_key

    status, shown = put(organiser, build, 3)

    build.refresh_from_db()
    assert (status, shown["priority"], build.priority) == (200, 3, 3)
    assert build.sort_key < turn
    owner = program(cast.alice)
    assert owner.get("/api/v1/jobs/build/").json()["results"][0]["priority"] == 3
    assert owner.get(f"/api/v1/jobs/build/{build.pk}/").json()["priority"] == 3
    assert Client().get("/api/v1/jobs/build/").json()["results"] == []
    entry = AuditEntry.objects.get(action="set priority of build")
    assert (entry.operator, entry.channel, entry.object_id, entry.changes) == (
        "olga", AuditEntry.Channel.API, str(build.pk), {"priority": [0, 3]},
    )  # fmt: skip


@pytest.mark.parametrize("priority", [11, -11, "high", None, 1.5])
def test_a_priority_out_of_range_is_refused_at_its_field(cast: Cast, build: Build, priority: object) -> None:
    status, answer = put(program(cast.olga), build, priority)

    build.refresh_from_db()
    assert (status, list(answer), build.priority) == (400, ["priority"], 0)


def test_owners_strangers_and_organisers_without_the_right_are_refused(cast: Cast, build: Build) -> None:
    helper = factories.user("helper", is_staff=True)
    assert put(program(cast.alice), build, 1)[0] == 403
    assert put(Client(), build, 1)[0] == 401
    assert put(program(helper), build, 1)[0] == 403
    helper.user_permissions.add(Permission.objects.get(codename="change_build"))
    assert put(program(helper), build, 1)[0] == 200


def test_a_job_that_does_not_wait_and_one_that_does_not_exist_are_refused(cast: Cast, build: Build) -> None:
    factories.moved(Build.objects.filter(pk=build.pk), JobState.RUNNING)
    status, answer = put(program(cast.olga), build, 1)
    assert (status, "Only a job that waits" in str(answer["detail"])) == (400, True)
    assert not AuditEntry.objects.filter(action="set priority of build").exists()
    organiser = program(cast.olga)
    assert (
        organiser.put("/api/v1/jobs/build/999/priority/", {"priority": 1}, content_type="application/json").status_code
        == 404
    )
    assert (
        organiser.put("/api/v1/jobs/thing/1/priority/", {"priority": 1}, content_type="application/json").status_code
        == 404
    )
