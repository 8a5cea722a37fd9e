"""The tasks of boards are chosen, in versions; tasks can be archived, and deleted without results."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from django.apps import apps

from core.errors import Refused
from core.models import Environment, Rollout, Task, TaskSet, User
from core.rollouts.batches import ranking_begin
from core.rollouts.board import board
from core.rollouts.selectors import tasks_current, tasks_named
from core.rollouts.sets import task_archive, task_delete, task_set_choose
from core.tests import applications, factories
from core.tests.applications import finished, tasks, uploaded

pytestmark = pytest.mark.django_db
LATER: tuple[dict[str, Any], ...] = (
    {"id": "practice", "task": "Say 1.", "answer": 1},
    {"id": "later", "task": "Say 2.", "answer": 2, "split": "RANKING"},
    {"id": "unseen", "task": "Say 3.", "answer": 3, "split": "HIDDEN"},
    {"id": "rank", "task": "Count all stamps.", "answer": 8, "split": "RANKING"},
)


@pytest.fixture
def olga(db: None) -> User:
    return applications.organiser()


@pytest.fixture
def desk(olga: User) -> Environment:
    return applications.package().environment


@pytest.fixture
def ann(db: None) -> User:
    return factories.user("ann")


def ranks(environment: Environment, version: int | None = None) -> list[tuple[int | None, str]]:
    return [(row.rank, row.submission.agent.name) for row in board(environment, version).rows]


@pytest.fixture
def ranked(desk: Environment, ann: User) -> Environment:
    for name, outcome in (("good", "SOLVED"), ("poor", "NOT_SOLVED")):
        assert ranking_begin(submission=applications.version(factories.agent(ann, desk, name))) is not None
        for rollout in Rollout.objects.filter(is_ranked=True, submission__agent__name=name):
            finished(rollout, outcome)
    return desk


@pytest.mark.parametrize("later", LATER, ids=lambda task: task["id"])
def test_no_file_that_is_uploaded_later_changes_a_rank(ranked: Environment, olga: User, later: dict[str, Any]) -> None:
    before = ranks(ranked)
    assert before == [(1, "good"), (2, "poor")]
    uploaded(olga, ranked, later)
    assert ranks(ranked) == before
    assert board(ranked).version == 1


def test_organisers_choose_the_tasks_of_a_board_and_earlier_boards_can_be_read(
    ranked: Environment, olga: User, ann: User
) -> None:
    uploaded(olga, ranked, *LATER)
    with pytest.raises(Refused, match="Organisers choose"):
        task_set_choose(environment=ranked, tasks=tasks(ranked, "later"), by=ann)
    made = task_set_choose(environment=ranked, tasks=tasks(ranked, "secret", "later"), by=olga)
    assert (made.number, made.chosen_by) == (2, olga)
    assert ranks(ranked) == [(None, "good"), (None, "poor")]
    assert ranks(ranked, 1) == [(1, "good"), (2, "poor")]
    same = task_set_choose(environment=ranked, tasks=tasks(ranked, "secret", "later"), by=olga)
    assert same == made
    task_set_choose(environment=ranked, tasks=tasks(ranked, "secret"), by=olga)
    assert ranks(ranked) == [(1, "good"), (2, "poor")]


@pytest.mark.parametrize("keys", [(), ("open",), ("mine",), ("count", "gone")], ids=str)
def test_what_cannot_rank_agents_is_not_chosen(desk: Environment, olga: User, ann: User, keys: tuple[str, ...]) -> None:
    uploaded(ann, desk, {"id": "mine", "task": "Say 4.", "answer": 4})
    uploaded(olga, desk, {"id": "gone", "task": "Say 5.", "answer": 5})
    task_archive(task=desk.tasks.get(key="gone"), by=olga)
    with pytest.raises(Refused):
        task_set_choose(environment=desk, tasks=tasks(desk, *keys) if keys else [], by=olga)
    assert board(desk).version == 1


def test_an_archived_task_is_in_no_list_keeps_its_results_and_can_come_back(
    desk: Environment, olga: User, ann: User
) -> None:
    rollout = finished(applications.batch(ann, desk, "count").rollouts.get())
    count = desk.tasks.get(key="count")
    task_archive(task=count, by=olga)
    assert "count" not in tasks_current(ann, desk).values_list("key", flat=True)
    assert list(tasks_current(ann, desk, archived=True).values_list("key", flat=True)) == ["count"]
    assert tasks_named(ann, ["count"], desk)["count"] == count
    with pytest.raises(Refused, match="is archived"):
        applications.batch(ann, desk, "count")
    assert Rollout.objects.filter(pk=rollout.pk, outcome="SOLVED").exists()
    task_archive(task=count, by=olga, is_archived=False)
    assert applications.batch(ann, desk, "count").rollouts.count() == 1


def test_a_task_of_the_board_is_not_archived(desk: Environment, olga: User) -> None:
    with pytest.raises(Refused, match="on the board"):
        task_archive(task=desk.tasks.get(key="rank"), by=olga)


def test_a_task_is_deleted_with_its_revisions_only_without_rollouts(desk: Environment, olga: User, ann: User) -> None:
    for answer in (1, 2):
        uploaded(ann, desk, {"id": "mine", "task": f"Say {answer}.", "answer": answer})
    mine = Task.objects.get(key="mine", is_current=True)
    with pytest.raises(Refused, match="Only organisers and the member"):
        task_delete(task=mine, by=factories.user("bob"))
    task_delete(task=mine, by=ann)
    assert not Task.objects.filter(key="mine").exists()
    for key in ("count", "secret"):
        with pytest.raises(Refused, match="Archive it instead"):
            task_delete(task=desk.tasks.get(key=key), by=olga)


def test_an_upgrade_keeps_the_tasks_that_ranked(desk: Environment) -> None:
    before = [task.pk for task in board(desk).tasks]
    TaskSet.objects.all().delete()
    importlib.import_module("core.migrations.0009_first_tasks_of_boards").choose(apps, None)
    assert [task.pk for task in board(desk).tasks] == before
    assert board(desk).version == 1
