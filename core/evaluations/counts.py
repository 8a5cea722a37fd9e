"""How many evaluations began, ended well and failed, over all time and lately."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q

from core.models import Evaluation, JobState

PERIODS = {"recent": timedelta(hours=1), "daily": timedelta(days=1), "weekly": timedelta(weeks=1)}
"""By the names that clients know; `total` has no limit."""
ENDS = {"completed": JobState.SUCCEEDED, "failed": JobState.FAILED}


def evaluation_counts(*, now: datetime) -> dict[str, Any]:
    """Return {started, completed, failed} of all evaluations and of those created in each of PERIODS.

    `by_environment` has {total, completed, failed} by env_id. An evaluation that was cancelled is only in `started`.
    """
    wanted = {}
    for period, length in {"total": None, **PERIODS}.items():
        since = Q() if length is None else Q(created_at__gte=now - length)
        wanted[f"{period}_started"] = Count("pk", filter=since or None)
        for word, state in ENDS.items():
            wanted[f"{period}_{word}"] = Count("pk", filter=since & Q(state=state))
    sums = Evaluation.objects.order_by().aggregate(**wanted)
    answer: dict[str, Any] = {
        period: {word: sums[f"{period}_{word}"] for word in ("started", *ENDS)} for period in ("total", *PERIODS)
    }
    ends = {word: Count("pk", filter=Q(state=state)) for word, state in ENDS.items()}
    rows: Iterable[Mapping[str, Any]] = (
        Evaluation.objects.order_by()
        .values("submission__agent__environment__env_id")
        .annotate(total=Count("pk"), **ends)
    )
    answer["by_environment"] = {
        row["submission__agent__environment__env_id"]: {word: row[word] for word in ("total", *ENDS)} for row in rows
    }
    return answer
