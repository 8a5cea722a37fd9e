"""The results behind a leaderboard or a comparison as they stood at a moment, so that it can be cited and checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db.models import F

from core.courses.sight import aside
from core.evaluations.comparison import compare
from core.evaluations.standing import stood
from core.models import Audience, Environment, Evaluation, LedgerEntry, Submission

OF_SCORES = ("score", "score_low", "score_high", "episode_count", "record_sha256")


def cited_results(
    environment: Environment, moment: datetime, *, of: Collection[Submission] = ()
) -> list[Mapping[str, Any]]:
    """Return the public results that counted at a moment, oldest first, without names, which can change.

    Entries of the ledger; on a board of scores the evaluations that stood. of: only those of these versions, which need
    not be on the board.
    """
    if environment.is_scored:
        compared = compare(environment, [one.public_id for one in of], until=moment).evaluations if of else ()
        scored = Evaluation.objects.filter(pk__in=[one.pk for one in compared]) if of else stood(environment, moment)
        scored = scored.order_by("pk")
        seeds = {"version": F("submission__public_id"), "seeds_sha256": F("seed_list__sha256")}
        return list(scored.values(*OF_SCORES, evaluation=F("pk"), **seeds))
    rows = LedgerEntry.objects.filter(
        ~aside("duel__tournament__", "duel__tournament__environment__"),
        duel__tournament__environment=environment,
        duel__tournament__results=Audience.PUBLIC,
        created_at__lte=moment,
    ).exclude(duel__void__created_at__lte=moment)
    rows = rows.filter(submission__in=of) if of else rows
    counts = ("seat", "wins", "losses", "draws", "errors", "opponent_errors", "score")
    named = {"version": F("submission__public_id"), "against": F("opponent__public_id")}
    return list(rows.order_by("pk").values("duel", *counts, **named, record_sha256=F("duel__record_sha256")))
