"""A database full of evaluations for `benchmarks.leaderboard`, and the ways to read boards from it. Needs Django."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from unittest import mock

import django

from benchmarks.common import say

if TYPE_CHECKING:
    from django.core.cache.backends.base import BaseCache
    from django.db.models import Model

    from core.models import Environment, Evaluation

OWNERS = 1000
EPISODES = 20
PAGE = 50
NEWEST = datetime(2026, 6, 1, tzinfo=UTC)
ALGORITHMS = ("DQN", "PPO", "Q-learning", "SARSA", "CEM", "REINFORCE", "A2C", "hand-written")
ALGORITHM, LOWEST, HIGHEST = "learning", 200.0, 320.0
"""The filter of the filtered page, which matches one row in thirty."""


def fill(*, rows: int, environments: int) -> None:
    """Fill a database with current evaluations, equally many per environment; two in a hundred are of scripts.

    The first environment is filled from Python, and the database copies it to the others.
    """
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from core.models import Agent, Evaluation, Submission

    call_command("migrate", verbosity=0, interactive=False)
    each = rows // environments
    first = _environments(environments)
    _fill_first(first, each)
    for number in range(1, environments):
        step = number * each
        _copy(Agent, each, {"id": f"id + {step}", "environment_id": str(first.pk + number)})
        uuid = f"md5('{number}-' || id)::uuid" if connection.vendor == "postgresql" else "lower(hex(randomblob(16)))"
        _copy(Submission, each, {"id": f"id + {step}", "agent_id": f"agent_id + {step}", "public_id": uuid})
        shifted = {name: f"{name} + {step}" for name in ("id", "agent_id", "submission_id")}
        _copy(Evaluation, each, {**shifted, "environment_id": str(first.pk + number), "score": f"score + {number}"})
    if connection.vendor == "postgresql":
        # PostgreSQL's own daemon would do this within minutes.
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


def _environments(count: int) -> Environment:
    """Create this many environments with consecutive ids; return the first."""
    from arena_kit.environment.registry import get_spec
    from core.environments.services import environment_sync
    from core.models import Environment

    first = environment_sync(spec=get_spec("CartPole-v1"))[0]
    taken = first.pk
    for number in range(1, count):
        first.pk, first.slug, first.env_id = taken + number, f"board-{number}", f"Board-{number}"
        first.save(force_insert=True)
    return Environment.objects.get(pk=taken)


def _fill_first(environment: Environment, count: int) -> None:
    from arena_kit.ranking.scores import summarise_scores
    from core.evaluations.selectors import ranking_list
    from core.models import Agent, Evaluation, JobState, Submission, SubmissionForm, User

    chance = random.Random(1)
    User.objects.bulk_create(
        User(pk=n, username=f"user-{n}", email=f"{n}@arena.example", is_active=n % 500 != 0)
        for n in range(1, OWNERS + 1)
    )
    Agent.objects.bulk_create(
        Agent(pk=n, environment=environment, owner_id=1 + n % OWNERS, name=f"agent-{n}", is_disabled=n % 300 == 0)
        for n in range(1, count + 1)
    )
    Submission.objects.bulk_create(
        Submission(pk=n, agent_id=n, number=1, algorithm=chance.choice(ALGORITHMS), archive_bytes=1,
                   form=SubmissionForm.SCRIPT if n % 50 == 0 else SubmissionForm.PLAYER)
        for n in range(1, count + 1)
    )  # fmt: skip
    seeds = ranking_list(environment)
    evaluations = []
    for n in range(1, count + 1):
        strength = chance.uniform(20, 450)
        scores = [round(chance.gauss(strength, 30), 1) for _ in range(EPISODES)]
        summary = summarise_scores(scores)
        is_verified = n % 50 != 0
        evaluations.append(
            Evaluation(
                pk=n, submission_id=n, agent_id=n, environment=environment, environment_version=environment.spec_id,
                seed_list=seeds if is_verified else None, is_verified=is_verified, is_current=True, attempt=1,
                state=JobState.SUCCEEDED, ended_at=NEWEST, episode_count=EPISODES, episodes_done=EPISODES,
                score=summary.mean.value,
                score_low=summary.mean.low, score_high=summary.mean.high, median=summary.median,
                interquartile_mean=summary.interquartile_mean, worst_decile=summary.worst_decile,
                seconds_per_move=0.0005, runtime="gymnasium 1.2.0",
                episodes=[[k, score, int(score), 0.1] for k, score in enumerate(scores, 1)] if is_verified else [],
            )
        )  # fmt: skip
    Evaluation.objects.bulk_create(evaluations, batch_size=2000)
    for n, row in enumerate(evaluations):
        row.created_at = NEWEST - timedelta(minutes=7 * n)
    Evaluation.objects.bulk_update(evaluations, ["created_at"], batch_size=500)


def _copy(model: type[Model], count: int, changes: Mapping[str, str]) -> None:
    """Copy the first rows of a table with some columns changed, in SQL that every database understands."""
    from django.db import connection

    columns = [str(field.column) for field in model._meta.concrete_fields]
    into = ", ".join(f'"{column}"' for column in columns)
    values = ", ".join(changes.get(column, f'"{column}"') for column in columns)
    table = model._meta.db_table
    with connection.cursor() as cursor:
        # Only our own names and whole numbers are inserted.
        cursor.execute(f'INSERT INTO "{table}" ({into}) SELECT {values} FROM "{table}" WHERE id <= {count}')


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one question in one way.

    median_ms, p95_ms: latency of an answer while one caller asks about one board. per_second: answers per second while
    several threads ask. spread_per_second: the same, but every question is about the next board, the worst case for a
    cache.
    """

    median_ms: float
    p95_ms: float
    per_second: float
    spread_per_second: float


def measure(*, samples: int, seconds: float, threads: int, redis_url: str) -> dict[str, dict[str, Figures]]:
    """Return figures by question and way, on a filled database. redis_url: empty to leave Redis out."""
    django.setup()
    from django.core.cache.backends.locmem import LocMemCache

    from core.cache.redis import SteadyRedisCache
    from core.evaluations.standing import standing
    from core.models import Environment

    environments = list(Environment.objects.filter(evaluations__is_current=True).distinct().order_by("pk"))
    middle = [standing(row).order_by("-score")[standing(row).count() // 2] for row in environments]
    caches: dict[str, BaseCache] = {"local_memory": LocMemCache("benchmark", {"OPTIONS": {"MAX_ENTRIES": 1000}})}
    if redis_url:
        caches["redis"] = SteadyRedisCache(redis_url, {})
    figures: dict[str, dict[str, Figures]] = {}
    for question, ways in _questions(environments, middle).items():
        say(question)
        figures[question] = {
            "in_python": _timed(ways["in_python"], max(5, samples // 10), seconds, threads),
            "database": _timed(ways["database"], samples, seconds, threads),
        }
        for name, kept in caches.items():
            with mock.patch("core.cache.answers.cache", kept):
                figures[question][name] = _timed(ways["cached"], samples, seconds, threads)
    say("")
    return figures


def _questions(
    environments: Sequence[Environment], middle: Sequence[Evaluation]
) -> dict[str, dict[str, Callable[[int], object]]]:
    """Return the ways to answer by question; each way takes the number of an environment.

    middle: the evaluation in the middle of each board, whose rank is asked for.
    """
    from core.evaluations import board
    from core.evaluations.board import BoardFilter, board_page, board_rank

    everything, some = BoardFilter(), BoardFilter(algorithm=ALGORITHM, score_min=LOWEST, score_max=HIGHEST)

    def one(number: int) -> Environment:
        row: Environment = environments[number % len(environments)]
        return row

    def page(filters: BoardFilter) -> dict[str, Callable[[int], object]]:
        return {
            "in_python": lambda number: _page_in_python(one(number), filters),
            "database": lambda number: board._page(one(number), filters, 0, PAGE),
            "cached": lambda number: board_page(one(number), filters, limit=PAGE),
        }

    return {
        "first_page": page(everything),
        "filtered_page": page(some),
        "rank": {
            "in_python": lambda number: _rank_in_python(middle[number % len(middle)]),
            "database": lambda number: board._rank(middle[number % len(middle)].pk),
            "cached": lambda number: board_rank(middle[number % len(middle)]),
        },
    }


def _rows_in_python(environment: Environment) -> list[Any]:
    """Read all rows of the environment and sort them here, as the older system does."""
    from core.models import Evaluation

    rows: Any = Evaluation.objects.filter(
        environment=environment, is_current=True, agent__is_disabled=False, agent__owner__is_active=True
    ).values("pk", "score", "is_verified", "created_at", "agent__name", "agent__owner__username",
             "submission__public_id", "submission__algorithm", "submission__user_label")  # fmt: skip
    return sorted(rows, key=lambda row: (not row["is_verified"], -row["score"], row["created_at"], row["pk"]))


def _page_in_python(environment: Environment, filters: Any) -> list[dict[str, Any]]:
    """Return a page without figures that the older system lacks, such as differences between rows."""
    ranked = [{**row, "rank": rank} for rank, row in enumerate(_rows_in_python(environment), start=1)]
    lowest = float("-inf") if filters.score_min is None else filters.score_min
    highest = float("inf") if filters.score_max is None else filters.score_max
    wanted = filters.algorithm.lower()
    return [
        row for row in ranked if wanted in row["submission__algorithm"].lower() and lowest <= row["score"] <= highest
    ][:PAGE]


def _rank_in_python(evaluation: Evaluation) -> int:
    rows = _rows_in_python(evaluation.environment)
    return 1 + next(place for place, row in enumerate(rows) if row["pk"] == evaluation.pk)


def _timed(answer: Callable[[int], object], samples: int, seconds: float, threads: int) -> Figures:
    answer(0)
    times = []
    for _ in range(samples):
        begun = time.perf_counter()
        answer(0)
        times.append(1000 * (time.perf_counter() - begun))
    return Figures(
        median_ms=round(statistics.median(times), 3),
        p95_ms=round(statistics.quantiles(times, n=20, method="inclusive")[-1], 3),
        per_second=round(_throughput(answer, seconds, threads, step=0), 1),
        spread_per_second=round(_throughput(answer, seconds, threads, step=1), 1),
    )


def _throughput(answer: Callable[[int], object], seconds: float, threads: int, *, step: int) -> float:
    """Return answers per second of several threads. step: from the board of one question to that of the next."""
    from django.db import connection

    counts = [0] * threads
    begun = time.perf_counter()

    def ask(thread: int) -> None:
        number = 7 * thread * step
        try:
            while time.perf_counter() - begun < seconds:
                answer(number)
                number += step
                counts[thread] += 1
        finally:
            connection.close()

    workers = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts) / (time.perf_counter() - begun)
