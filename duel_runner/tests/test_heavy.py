"""Heavy environments: their jobs stand in lines of their own, hold up no others, and starve neither."""

from __future__ import annotations

from itertools import count

import pytest
from django.db import connection

from core.duels.services import duels_enqueue
from core.jobs import claims, rota
from core.jobs.claims import claim_next, is_work_waiting
from core.jobs.lifecycle import job_enqueue, job_succeed
from core.jobs.lines import line, of_line, places_of
from core.jobs.registry import queues_of
from core.jobs.turns import sort_key_of
from core.jobs.waits import WaitCode, wait_of
from core.jobs.workers import worker_appear, worker_stop
from core.models import Duel, Environment, Evaluation, JobState, Submission, Worker
from core.tests import factories
from core.tests.concurrency import at_once

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
_numbers = count(1)


@pytest.fixture(autouse=True)
def _fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_rotas", {})


def heavy_task() -> Environment:
    task = factories.task("frozen-lake")
    task.is_heavy = True
    task.save(update_fields=["is_heavy"])
    return task


def player(environment: Environment, owner: str = "") -> Submission:
    return factories.ready(factories.agent(factories.user(owner or f"p{next(_numbers)}"), environment))


def enqueued(submission: Submission) -> Evaluation:
    """Return an evaluation that was put in line as services do it."""
    evaluation = factories.evaluation(submission, JobState.QUEUED)
    job_enqueue(job=evaluation)
    return evaluation


def worker(queue: str, **fields: object) -> Worker:
    name = f"host:{next(_numbers)}"
    return worker_appear(name=name, host="host", pid=1, queue=queue, version="1", python="3", **fields)


def taken(queue: str = "duel") -> int | None:
    """Claim the next job of a queue; return its key, None if there is none."""
    claim = claim_next(queue, worker="worker")
    return None if claim is None else claim.job.pk


def test_a_job_gets_its_line_from_its_environment_when_it_is_put_in_line() -> None:
    task = heavy_task()
    evaluation = enqueued(player(task))
    script = factories.script_evaluation(
        factories.script(factories.agent(factories.user("ann"), task)), JobState.QUEUED
    )
    job_enqueue(job=script)
    assert queues_of(evaluation) == queues_of(script) == ["duel", "heavy"]
    task.is_heavy = False
    task.save(update_fields=["is_heavy"])
    later = enqueued(player(task))
    evaluation.refresh_from_db()
    assert (evaluation.is_heavy, script.is_heavy, later.is_heavy) == (True, True, False)


def test_duels_of_a_tournament_get_their_line_too() -> None:
    environment = factories.environment()
    environment.is_heavy = True
    environment.save(update_fields=["is_heavy"])
    first, second = (player(environment) for _ in "ab")
    tournament = factories.tournament([first, second])
    fields = {"round": 1, "environment_version": environment.spec_id, "seed": 1, "match_count": 2}
    duels_enqueue(
        duels=[Duel(tournament=tournament, number=7, player_1=first, player_2=second, **fields)],
    )
    assert Duel.objects.get(number=7).is_heavy


def test_heavy_jobs_come_after_all_others_and_by_turns_of_their_owners() -> None:
    task, quick = heavy_task(), factories.task()
    greedy, ann = player(task, "greedy"), player(task, "ann")
    heavy = [enqueued(greedy), enqueued(greedy), enqueued(ann)]
    other = enqueued(player(quick))
    order = []
    while (key := taken()) is not None:
        order.append(key)
        job_succeed(job=Evaluation.objects.get(pk=key), score=1.0)
    assert order == [job.pk for job in (other, heavy[0], heavy[2], heavy[1])]


def test_places_count_the_own_line_alone_and_say_which() -> None:
    worker("duel")
    task = heavy_task()
    heavy = [enqueued(player(task)) for _ in range(2)]
    other = enqueued(player(factories.task()))
    assert places_of(Evaluation, [job.pk for job in (*heavy, other)]) == {heavy[0].pk: 1, heavy[1].pk: 2, other.pk: 1}
    found = wait_of(heavy[1])
    assert found is not None
    assert (found.code, found.sentence) == (
        WaitCode.IN_LINE, "It is number 2 in the queue of heavy environments."
    )  # fmt: skip


def test_one_of_several_workers_stays_free_of_heavy_jobs() -> None:
    task = heavy_task()
    for _ in range(3):
        enqueued(player(task))
        worker("duel")
    assert is_work_waiting("duel")
    assert [taken() is not None for _ in range(3)] == [True, True, False]
    assert not is_work_waiting("duel")
    other = enqueued(player(factories.task()))
    assert taken() == other.pk


def test_a_worker_without_an_engine_is_not_the_one_that_stays_free() -> None:
    task = heavy_task()
    for _ in range(2):
        enqueued(player(task))
        worker("duel")
    worker("duel", engine_error="No engine answers.")
    assert [taken() is not None for _ in range(2)] == [True, False]


def test_a_single_worker_takes_one_heavy_job_when_it_is_free() -> None:
    worker("duel")
    heavy = enqueued(player(heavy_task()))
    assert taken() == heavy.pk


@pytest.mark.django_db(transaction=True)
def test_workers_that_look_together_leave_one_free() -> None:
    task = heavy_task()
    for _ in range(4):
        enqueued(player(task))
    for _ in range(3):
        worker("duel")
    claimed = at_once(*[taken] * 3)
    assert len({key for key in claimed if key is not None}) == 2
    assert claimed.count(None) == 1


def test_heavy_jobs_are_left_to_workers_of_their_own_while_these_live() -> None:
    reserved = worker("heavy")
    worker("duel")
    heavy = [enqueued(player(heavy_task()))]
    heavy.append(enqueued(heavy[0].submission))
    assert (taken("duel"), is_work_waiting("duel"), is_work_waiting("heavy")) == (None, False, True)
    assert taken("heavy") == heavy[0].pk
    worker_stop(worker=reserved)
    # It has died in the middle of its job, which its lease gives back.
    factories.moved(Evaluation.objects.filter(pk=heavy[0].pk), JobState.QUEUED)
    assert is_work_waiting("duel")
    assert taken("duel") == heavy[0].pk


def test_a_worker_of_its_own_without_an_engine_holds_nothing_up() -> None:
    worker("heavy", engine_error="No engine answers.")
    worker("duel")
    heavy = enqueued(player(heavy_task()))
    assert taken("duel") == heavy.pk


def test_reserved_workers_take_nothing_else() -> None:
    enqueued(player(factories.task()))
    assert taken("heavy") is None


def test_a_heavy_job_does_not_starve_behind_work_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(rota, "monotonic", lambda: clock[0])
    task, quick = heavy_task(), player(factories.task())
    heavy = [enqueued(player(task)) for _ in range(2)]
    order = []
    for minute in range(26):
        enqueued(quick)
        clock[0] = 60.0 * minute
        key = taken()
        assert key is not None
        order.append(key)
        job_succeed(job=Evaluation.objects.get(pk=key), score=1.0)
    # From the first other job on, ten minutes; and again after the heavy one.
    assert [order.index(job.pk) for job in heavy] == [10, 21]


def test_time_in_which_nothing_waits_does_not_bring_a_heavy_job_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(rota, "monotonic", lambda: clock[0])
    quick = player(factories.task())
    enqueued(quick)
    assert (taken(), taken()) != (None, None)
    clock[0] = 100_000.0
    enqueued(player(heavy_task()))
    other = enqueued(quick)
    assert taken() == other.pk


def test_the_next_of_a_line_is_found_by_an_index_behind_thousands_of_another() -> None:
    task = factories.task()
    waiting = factories.evaluation(player(task), JobState.QUEUED)
    row = {
        "submission": waiting.submission, "agent": waiting.agent, "environment": task,
        "environment_version": task.spec_id, "seed_list": waiting.seed_list, "is_heavy": True,
    }  # fmt: skip
    Evaluation.objects.bulk_create(
        Evaluation(turn=turn, sort_key=sort_key_of(turn) - 10**9, **row) for turn in range(1, 1500)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE core_evaluation")
    found = of_line(line(Evaluation), {"is_heavy": False, "is_verified": True})[:8]
    assert list(found) == [waiting]
    plan = found.explain()
    assert "evaluation_in_line" in plan
    assert "Filter" not in plan
    assert "TEMP B-TREE" not in plan
