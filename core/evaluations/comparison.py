"""Compares evaluations of one environment, seed by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from arena_kit.ranking.paired import Paired, on_same_seeds
from arena_kit.ranking.scores import Interval
from core.models import Environment, Evaluation, JobState

COMPARED = 4
"""Maximum number of submissions in a comparison."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Evaluations side by side.

    differences: by row and column, the comparison of the row's evaluation with the column's on common seeds; None
    without common seeds.
    """

    evaluations: tuple[Evaluation, ...]
    differences: tuple[tuple[Paired | None, ...], ...]


def compare(environment: Environment, public_ids: Sequence[UUID], *, until: datetime | None = None) -> Comparison:
    """Return the latest finished evaluations of up to COMPARED submissions, in the given order, without unknown ids.

    They need not be on the board: an agent's versions can be compared with each other. until: as it was then.
    """
    by_then = {} if until is None else {"ended_at__lte": until}
    wanted = list(dict.fromkeys(public_ids))[:COMPARED]
    latest: dict[UUID, Evaluation] = {
        evaluation.submission.public_id: evaluation
        for evaluation in Evaluation.objects.filter(
            environment=environment,
            state=JobState.SUCCEEDED,
            submission__public_id__in=wanted,
            submission__deleted_at=None,
            agent__is_disabled=False,
            agent__owner__is_active=True,
            **by_then,
        )
        .select_related("submission__agent__owner", "seed_list")
        .order_by("pk")
    }
    found = tuple(latest[public_id] for public_id in wanted if public_id in latest)
    return Comparison(
        evaluations=found,
        differences=tuple(tuple(None if row is other else paired(row, other) for other in found) for row in found),
    )


def difference(evaluation: Evaluation, other: Evaluation) -> Interval | None:
    """Return the difference of `paired`; None where there is none."""
    found = paired(evaluation, other)
    return None if found is None else found.difference


def paired(evaluation: Evaluation, other: Evaluation) -> Paired | None:
    """Return the comparison of two evaluations, where both finished the same list of seeds; otherwise None."""
    if evaluation.seed_list_id is None or evaluation.seed_list_id != other.seed_list_id:
        return None
    scores, others = _scores(evaluation), _scores(other)
    common = sorted(scores.keys() & others.keys())
    return _paired(tuple(scores[n] for n in common), tuple(others[n] for n in common)) if common else None


@lru_cache(maxsize=1024)
def _paired(scores: tuple[float, ...], others: tuple[float, ...]) -> Paired:
    """Cached, because the pairs of a page stay the same for many requests."""
    return on_same_seeds(scores, others)


def _scores(evaluation: Evaluation) -> dict[int, float]:
    """Return scores by the episode's number, which is the position of its seed in the list."""
    return {number: score for number, score, _, _ in evaluation.episodes}
