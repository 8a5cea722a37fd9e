from __future__ import annotations

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.utils.module_loading import import_string
from django_q.models import Schedule

from core.jobs.messages import CHALLENGE_TASK, TASK
from core.jobs.registry import PLANS, TASKS
from core.jobs.schedules import message_of, schedules_ensure

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.mark.slow
def test_migrating_creates_every_schedule_once() -> None:
    Schedule.objects.all().delete()
    for _ in range(2):
        call_command("migrate", verbosity=0)
    rows = Schedule.objects.values_list(
        "name", "func", "args", "kwargs", "cluster", "schedule_type", "minutes", "repeats"
    )
    assert sorted(rows) == sorted(
        (
            name,
            TASK,
            f"('{plan.task}', 0)",
            f"{{'q_options': {{'cluster': '{plan.queue}'}}}}",
            None,
            "I",
            plan.minutes,
            -1,
        )
        for name, plan in PLANS.items()
    )


def test_schedules_name_tasks_and_queues_that_exist() -> None:
    assert {plan.queue for plan in PLANS.values()} <= set(settings.QUEUES)
    assert {plan.task for plan in PLANS.values()} <= set(TASKS)
    assert all(callable(import_string(task.run)) for task in TASKS.values())
    assert callable(import_string(TASK))


def test_what_organisers_changed_stays() -> None:
    schedules_ensure()
    Schedule.objects.filter(name="watchdog").update(minutes=5)
    # The name is not unique: a copy made in the admin must not break the next migration.
    Schedule.objects.create(name="watchdog", func="tournament_manager.tasks.watchdog", minutes=7)
    schedules_ensure()
    assert sorted(Schedule.objects.filter(name="watchdog").values_list("minutes", flat=True)) == [5, 7]


def test_a_task_that_was_renamed_is_found_under_its_new_name() -> None:
    schedules_ensure()
    old = {"func": "duel_runner.recheck.duels_recheck", "minutes": 30, "cluster": "duel"}
    Schedule.objects.filter(name="verify").update(**old)
    schedules_ensure()
    found = Schedule.objects.values_list("func", "args", "minutes", "cluster").get(name="verify")
    assert found == (TASK, "('results_recheck', 0)", 30, None)


def test_no_schedule_is_left_to_a_cluster_that_no_longer_runs() -> None:
    schedules_ensure()
    Schedule.objects.create(name="tournaments 1", **message_of("tournament", CHALLENGE_TASK, 1) | {"cluster": "old"})
    Schedule.objects.filter(name="disk").update(cluster="publish")
    schedules_ensure()
    assert not Schedule.objects.exclude(cluster=None).exists()


def test_without_the_queues_table_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    Schedule.objects.all().delete()
    monkeypatch.setattr(connection.introspection, "table_names", lambda: ["core_user"])
    schedules_ensure()
    assert not Schedule.objects.exists()
