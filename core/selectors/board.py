"""The board of an environment that is ranked by score: who stands where, filtered and sorted.

An agent stands on it with its current evaluation. Verified evaluations come before those that scripts report of
themselves; equal scores share a rank (1, 1, 3), the earlier one is listed first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from core.cache import cached
from core.models import Environment, Evaluation
from core.scores import Interval, paired_difference

SORTS = {
    "score_desc": ("-is_verified", "-score", "created_at", "pk"),
    "date_desc": ("-created_at", "-pk"),
    "date_asc": ("created_at", "pk"),
}
MEDALS = {1: "gold", 2: "silver", 3: "bronze"}
COMPARED = 4
"""Submissions side by side at most."""


@dataclass(frozen=True, slots=True)
class BoardFilter:
    """What of a board is wanted; texts are looked for anywhere and in any case, days are whole days in UTC."""

    id_query: str = ""
    user: str = ""
    algorithm: str = ""
    score_min: float | None = None
    score_max: float | None = None
    date_from: date | None = None
    date_to: date | None = None
    verified: bool | None = None
    sort: str = "score_desc"


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One agent on the board. rank, medal: in the whole board, whatever the filter shows."""

    rank: int
    medal: str
    public_id: UUID
    agent: str
    number: int
    owner: str
    user_label: str
    """Who an anonymous client said it is, empty otherwise."""
    algorithm: str
    score: float
    score_low: float | None
    score_high: float | None
    interquartile_mean: float | None
    median: float | None
    worst_decile: float | None
    seconds_per_move: float | None
    episode_count: int
    is_verified: bool
    created_at: datetime
    evaluation_id: int
    submission_id: int
    difference: Interval | None = None
    """Paired difference to the row above, where both played the same seeds."""

    @property
    def user(self) -> str:
        """Whom to show: the owner, or what an anonymous client called itself."""
        return self.user_label or self.owner


@dataclass(frozen=True, slots=True)
class BoardPage:
    """Some rows of a board. total: how many the filter lets through."""

    rows: tuple[BoardRow, ...]
    total: int


def board_page(environment: Environment, filters: BoardFilter, *, offset: int = 0, limit: int = 50) -> BoardPage:
    """Rows of a board, at most a second old."""
    text = repr((environment.pk, filters, offset, limit))
    key = f"board:{hashlib.blake2b(text.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"
    return cached(key, lambda: _page(environment, filters, offset, limit))


def board_rank(evaluation: Evaluation) -> int | None:
    """The rank of an evaluation, None when it does not stand on the board. At most a second old."""
    return cached(f"board-rank:{evaluation.pk}", lambda: _rank(evaluation))


def environments_with_boards() -> list[Environment]:
    """Every active environment that is ranked by score, by name."""
    return list(Environment.objects.filter(seats=1, is_active=True).order_by("name"))


def compare(environment: Environment, public_ids: Sequence[UUID]) -> list[Evaluation]:
    """Finished evaluations of up to COMPARED submissions with their episodes, in the order asked for."""
    found = {
        evaluation.submission.public_id: evaluation
        for evaluation in Evaluation.objects.filter(
            environment=environment, state="SUCCEEDED", submission__public_id__in=public_ids[:COMPARED]
        )
        .select_related("submission__agent__owner")
        .order_by("pk")
    }
    return [found[public_id] for public_id in dict.fromkeys(public_ids[:COMPARED]) if public_id in found]


def standing(environment: Environment) -> QuerySet[Evaluation]:
    """The evaluations that stand on an environment's board."""
    return Evaluation.objects.filter(
        environment=environment,
        is_current=True,
        submission__deleted_at=None,
        agent__is_disabled=False,
        agent__owner__is_active=True,
    )


def _page(environment: Environment, filters: BoardFilter, offset: int, limit: int) -> BoardPage:
    rows = standing(environment)
    wanted = rows.filter(_condition(filters))
    order = SORTS.get(filters.sort, SORTS["score_desc"])
    shown = list(
        wanted.select_related("submission", "agent", "agent__owner")
        .defer("log", "metrics", "error")
        .order_by(*order)[offset : offset + limit]
    )
    ranks = _ranks(rows, shown)
    made = [_row(evaluation, ranks[evaluation.pk]) for evaluation in shown]
    return BoardPage(tuple(_with_differences(made, shown)), wanted.count())


def _condition(filters: BoardFilter) -> Q:
    """What the filter lets through."""
    condition = Q()
    if filters.id_query:
        # As people copy it: with or without hyphens, whatever the database keeps.
        digits = filters.id_query.replace("-", "").lower()
        condition &= Q(submission__public_id__icontains=digits) | Q(submission__public_id__icontains=filters.id_query)
    if filters.user:
        by_label = Q(submission__user_label__icontains=filters.user)
        condition &= by_label | Q(submission__user_label="", agent__owner__username__icontains=filters.user)
    if filters.algorithm:
        condition &= Q(submission__algorithm__icontains=filters.algorithm)
    bounds: dict[str, Any] = {
        "score__gte": filters.score_min,
        "score__lte": filters.score_max,
        "created_at__gte": None if filters.date_from is None else _midnight(filters.date_from),
        "created_at__lt": None if filters.date_to is None else _midnight(filters.date_to) + timedelta(days=1),
        "is_verified": filters.verified,
    }
    return condition & Q(**{name: value for name, value in bounds.items() if value is not None})


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time_of_day(), UTC)


def _ranks(rows: QuerySet[Evaluation], shown: Sequence[Evaluation]) -> dict[int, int]:
    """The rank of each: one more than how many are better. One query however many are shown."""
    levels = sorted({(evaluation.is_verified, evaluation.score) for evaluation in shown}, reverse=True)
    if not levels:
        return {}
    counts = rows.aggregate(
        **{f"level_{number}": Count("pk", filter=_better(*level)) for number, level in enumerate(levels)}
    )
    ranks = {level: 1 + counts[f"level_{number}"] for number, level in enumerate(levels)}
    return {evaluation.pk: ranks[evaluation.is_verified, evaluation.score] for evaluation in shown}


def _better(is_verified: bool, score: float | None) -> Q:
    higher = Q(is_verified=is_verified, score__gt=score)
    return higher if is_verified else higher | Q(is_verified=True)


def _rank(evaluation: Evaluation) -> int | None:
    rows = standing(evaluation.environment)
    if not rows.filter(pk=evaluation.pk).exists():
        return None
    return 1 + rows.filter(_better(evaluation.is_verified, evaluation.score)).count()


def _row(evaluation: Evaluation, rank: int) -> BoardRow:
    assert evaluation.score is not None
    submission = evaluation.submission
    return BoardRow(
        rank=rank,
        medal=MEDALS.get(rank, ""),
        public_id=submission.public_id,
        agent=evaluation.agent.name,
        number=submission.number,
        owner=evaluation.agent.owner.username,
        user_label=submission.user_label,
        algorithm=submission.algorithm,
        score=evaluation.score,
        score_low=evaluation.score_low,
        score_high=evaluation.score_high,
        interquartile_mean=evaluation.interquartile_mean,
        median=evaluation.median,
        worst_decile=evaluation.worst_decile,
        seconds_per_move=evaluation.seconds_per_move,
        episode_count=evaluation.episode_count,
        is_verified=evaluation.is_verified,
        created_at=evaluation.created_at,
        evaluation_id=evaluation.pk,
        submission_id=submission.pk,
    )


def _with_differences(rows: Sequence[BoardRow], evaluations: Sequence[Evaluation]) -> list[BoardRow]:
    """The rows with each one's paired difference to the one above, where both played the same list of seeds."""
    compared = list(rows[:1])
    for row, own, above in zip(rows[1:], evaluations[1:], evaluations[:-1], strict=True):
        difference = None
        if own.seed_list_id is not None and own.seed_list_id == above.seed_list_id:
            difference = paired_difference(
                [score for _, score, _, _ in own.episodes], [score for _, score, _, _ in above.episodes]
            )
        compared.append(replace(row, difference=difference))
    return compared
