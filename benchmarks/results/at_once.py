"""Finishes duels of one edition in many processes as fast as possible. Needs Django and PostgreSQL."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from datetime import timedelta
from multiprocessing.synchronize import Event
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.results.history import Arena
    from core.models import Tournament

START_SECONDS = 120.0
LONGEST = 100_000
"""Maximum number of duels of the edition."""


def finish_at_once(arena: Arena, tournament: Tournament, *, workers: int, seconds: float) -> dict[str, Any]:
    """Return the results per second of all processes together, and of inserting the same entries into a bare table."""
    from django.db import connection, connections

    from benchmarks.results.told import is_correct

    _claim_all(tournament, workers)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE bare_entry (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, duel_id bigint, "
            "submission_id bigint, opponent_id bigint, seat int, wins int, losses int, draws int, errors int, "
            "opponent_errors int, score float, created_at timestamptz)"
        )
    # Each process opens its own connection.
    connections.close_all()
    context = multiprocessing.get_context("fork")
    stop, answered = context.Event(), context.Value("i", 0)
    manager = context.Process(target=_answer, args=(arena.environment.pk, stop, answered))
    manager.start()
    finished = _crowd(context, workers, seconds, _finish_all, (tournament.pk, workers))
    waiting = time.monotonic()
    stop.set()
    manager.join()
    caught_up = time.monotonic() - waiting
    inserted = _crowd(context, workers, seconds, _insert_all, (tournament.pk,))
    results = sum(count for count, _, _ in finished)
    per_second = results / max(spent for _, spent, _ in finished)
    inserts = sum(count for count, _, _ in inserted) / max(spent for _, spent, _ in inserted)
    return {
        "results": results,
        "results_per_second": round(per_second, 1),
        "inserts_per_second": round(inserts, 1),
        "insert_share": round(per_second / inserts, 4),
        "messages_per_result": round(sum(sent for _, _, sent in finished) / results, 4),
        "refreshes": answered.value,
        "catch_up_seconds": round(caught_up, 2),
        "is_correct": is_correct(tournament),
    }


Counted = tuple[int, float, int]
"""A process's number of results, its seconds, and its number of messages."""


def _claim_all(tournament: Any, workers: int) -> None:
    """Claim all waiting duels, distributed over the processes in turn."""
    from uuid import uuid4

    from django.db.models.functions import Now
    from django.utils import timezone

    for number in range(workers):
        tournament.duels.filter(state="QUEUED", number__gt=0).extra(
            where=["mod(number, %s) = %s"], params=[workers, number]
        ).update(
            state="RUNNING", claim_token=uuid4(), lease_expires_at=timezone.now() + timedelta(hours=1),
            attempt=1, worker=f"worker-{number}", started_at=Now(), not_before=None,
        )  # fmt: skip


def _crowd(context: Any, workers: int, seconds: float, work: Any, arguments: Sequence[Any]) -> list[Counted]:
    queue, go = context.Queue(), context.Barrier(workers)
    processes = [
        context.Process(target=_in_step, args=(work, number, go, seconds, queue, *arguments))
        for number in range(workers)
    ]
    for process in processes:
        process.start()
    found = [queue.get(timeout=START_SECONDS + 20 * seconds) for _ in processes]
    for process in processes:
        process.join()
    return found


def _in_step(work: Any, number: int, go: Any, seconds: float, queue: Any, *arguments: Any) -> None:
    queue.put(work(number, go, seconds, *arguments))


def _finish_all(number: int, go: Any, seconds: float, tournament: int, workers: int) -> Counted:
    from benchmarks.results.told import OUTCOMES, messages
    from core.duels.services import duel_succeed
    from core.jobs.artifacts import DuelArtifacts
    from core.models import Duel

    from benchmarks.results.history import record_of  # isort: skip

    duels = Duel.objects.filter(tournament=tournament, state="RUNNING", worker=f"worker-{number}").order_by("number")
    rows = list(duels.select_related(*Duel.RELATED))
    count = 0
    with messages() as sent:
        go.wait(START_SECONDS)
        begun = time.monotonic()
        for row in rows:
            if time.monotonic() - begun > seconds:
                break
            record = record_of(row, OUTCOMES[row.number % len(OUTCOMES)])
            duel_succeed(duel=row, record=record, artifacts=DuelArtifacts(2, "", "", ""), log="")
            count += 1
    return count, time.monotonic() - begun, len(sent)


def _answer(environment: int, stop: Event, answered: Any) -> None:
    """Act as the queue's only worker: update the environment at every message, and finally as the watchdog does."""
    from core.jobs.messages import TOURNAMENT_TASK, message_do, task_run
    from core.jobs.wakeups import wait

    while not stop.is_set():
        if message_do("tournament"):
            answered.value += 1
        else:
            wait("tournament")
    task_run(TOURNAMENT_TASK, environment)


def _insert_all(number: int, go: Any, seconds: float, tournament: int) -> Counted:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT duel_id, submission_id, opponent_id FROM core_ledgerentry ORDER BY id DESC OFFSET %s LIMIT 1",
            [number],
        )
        duel, one, other = cursor.fetchone()
        columns = "duel_id, submission_id, opponent_id, seat, wins, losses, draws, errors, opponent_errors, score"
        row = "(%s, %s, %s, %s, 1, 0, 0, 0, 0, 1.0, now())"
        command = f"INSERT INTO bare_entry ({columns}, created_at) VALUES {', '.join([row] * 4)}"
        values = [value for seat in (0, 1) for pair in ((one, other), (other, one)) for value in (duel, *pair, seat)]
        count = 0
        go.wait(START_SECONDS)
        begun = time.monotonic()
        while time.monotonic() - begun < seconds:
            cursor.execute(command, values)
            count += 1
    return count, time.monotonic() - begun, 0
