"""Writes which running duels are watched, and what their workers store of them. All of it is thrown away later."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from core.models import Duel, JobState, ToldMoves, WatchedDuel

logger = logging.getLogger(__name__)
WATCHED = timedelta(seconds=20)
"""A duel counts as watched for so long after a page that shows it was asked for."""
ASKED_AGAIN = timedelta(seconds=8)
"""After this time the next page that is asked for is written down again."""


def why_not_live(duel: Duel) -> str:
    """Return a sentence that says why matches of a running duel cannot be watched; empty where they can.

    Where players could gain by knowing what others see, nothing is told before the duel is over.
    """
    if settings.SANDBOX == "kubernetes":
        return "This arena plays on a cluster, where matches cannot be followed while they are played."
    try:
        is_shared = get_spec(duel.environment_version).isolation == "shared"
    except UnknownEnvironment:
        is_shared = False
    return (
        "" if is_shared else "In this environment players do not see everything, so no match is shown before the end."
    )


def duel_watch(duel: Duel) -> None:
    """Note that a page shows a running duel, so that its worker stores its moves. Mostly this costs one query."""
    if duel.state != JobState.RUNNING or why_not_live(duel):
        return
    if WatchedDuel.objects.filter(duel=duel, asked_at__gt=Now() - ASKED_AGAIN).exists():
        return
    WatchedDuel.objects.bulk_create(
        [WatchedDuel(duel=duel, asked_at=Now())],
        update_conflicts=True,
        unique_fields=["duel"],
        update_fields=["asked_at"],
    )


def duel_is_watched(duel: Duel) -> bool:
    """Return whether people watch a duel now. One query."""
    return WatchedDuel.objects.filter(duel=duel, asked_at__gt=Now() - WATCHED).exists()


def moves_store(rows: Sequence[ToldMoves]) -> None:
    """Write moves of a watched duel. Those that are there already stay."""
    ToldMoves.objects.bulk_create(rows, ignore_conflicts=True)


def moves_forget() -> int:
    """Delete what was told of duels that are over; return the number of rows."""
    count, _ = ToldMoves.objects.exclude(duel__state=JobState.RUNNING).delete()
    WatchedDuel.objects.exclude(duel__state=JobState.RUNNING).delete()
    return count
