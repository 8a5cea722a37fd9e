"""Environments with the numbers of their participants and their leaders, as the home page shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery

from core.courses.sight import Viewer, listed
from core.models import (
    Environment,
    Evaluation,
    Rating,
    Rollout,
    Submission,
    Task,
    TaskSplit,
)
from core.ratings.board import ranked


@dataclass(frozen=True, slots=True)
class EnvironmentCard:
    environment: Environment
    agent_count: int
    user_count: int
    leader: Rating | None = None
    """The first of the leaderboard, where agents play duels."""
    best: Evaluation | None = None
    """The first of the board, where submissions are ranked by scores."""
    task_count: int = 0
    """The tasks of an application that everyone sees."""


def environment_cards(viewer: Viewer) -> list[EnvironmentCard]:
    """Active environments that lists show a person, with the numbers of participants and the leaders."""
    return _cards(list(listed(Environment.objects.filter(is_active=True), viewer)))


def environment_card(environment: Environment) -> EnvironmentCard:
    """One environment with its numbers and its leader. Two queries, three for an application."""
    (card,) = _cards([environment])
    return card


def _cards(environments: list[Environment]) -> list[EnvironmentCard]:
    games = [row for row in environments if not row.is_scored]
    boards = [row for row in environments if row.is_scored and not row.is_app]
    applications = [row for row in environments if row.is_app]
    # What an agent is counted by differs, and one query for all would let PostgreSQL compare every submission with
    # every agent.
    counts = _counts(games, _playing) | _counts(boards, _on_board) | _counts(applications, _at_work)
    leaders, best, tasks = _leaders(games), _best(boards), _tasks(applications)
    return [
        EnvironmentCard(
            environment,
            *counts.get(environment.pk, (0, 0)),
            leaders.get(environment.pk),
            best.get(environment.pk),
            tasks.get(environment.pk, 0),
        )
        for environment in environments
    ]


def _counts(environments: list[Environment], find: Callable[[], QuerySet[Any]]) -> dict[int, tuple[int, int]]:
    """By environment: how many agents are in the rows that `find` returns, and how many owners they have.

    One query, none without any environment.
    """
    if not environments:
        return {}
    rows = find().filter(agent__environment__in=environments, agent__is_disabled=False, agent__owner__is_active=True)
    counted = (
        rows.order_by()
        .values("agent__environment")
        .annotate(agents=Count("agent", distinct=True), owners=Count("agent__owner", distinct=True))
    )
    return {row["agent__environment"]: (row["agents"], row["owners"]) for row in counted}


def _playing() -> QuerySet[Submission]:
    return Submission.objects.active()


def _on_board() -> QuerySet[Evaluation]:
    return Evaluation.objects.filter(is_current=True, submission__deleted_at=None)


def _at_work() -> QuerySet[Submission]:
    ranked = Rollout.objects.filter(submission=OuterRef("pk"), is_ranked=True).exclude(outcome="")
    return Submission.objects.filter(Exists(ranked), deleted_at=None)


def _tasks(environments: list[Environment]) -> dict[int, int]:
    """By application: how many tasks everyone sees. One query, none without any."""
    if not environments:
        return {}
    rows = Task.objects.filter(environment__in=environments, is_current=True, archived_at=None).exclude(
        split=TaskSplit.HIDDEN
    )
    return dict(rows.order_by().values_list("environment").annotate(Count("pk")))


def _leaders(environments: list[Environment]) -> dict[int, Rating]:
    """The first of the leaderboard of each environment. One query, none without any."""
    if not environments:
        return {}
    first = ranked(OuterRef("pk")).values("pk")[:1]
    chosen = Environment.objects.filter(pk__in=[row.pk for row in environments]).values(first=Subquery(first))
    shown = Rating.objects.filter(pk__in=chosen).select_related("submission__agent__owner")
    shown = shown.only(
        "value",
        "rank",
        "submission__number",
        "submission__agent__name",
        "submission__agent__environment",
        "submission__agent__owner__username",
    )
    return {row.submission.agent.environment_id: row for row in shown}


def _best(environments: list[Environment]) -> dict[int, Evaluation]:
    """The first of the board of each environment, verified ones before others. One query, none without any."""
    if not environments:
        return {}
    # Like `standing`, for all environments at once.
    board = Evaluation.objects.filter(
        environment=OuterRef("pk"),
        is_current=True,
        submission__deleted_at=None,
        agent__is_disabled=False,
        agent__owner__is_active=True,
    )
    first = board.order_by("-is_verified", "-score", "created_at", "pk").values("pk")[:1]
    chosen = Environment.objects.filter(pk__in=[row.pk for row in environments]).values(first=Subquery(first))
    shown = Evaluation.objects.filter(pk__in=chosen).select_related("submission__agent")
    shown = shown.only("score", "is_verified", "environment", "submission__agent__name")
    return {row.environment_id: row for row in shown}
