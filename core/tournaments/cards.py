"""Environments with the numbers of their participants and their leaders, as the home page shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery

from core.cache.answers import cached
from core.courses.sight import Viewer, listed
from core.lookup import ByKey, Lookup
from core.models import Environment, Evaluation, Rating, Rollout, Submission, Task, TaskSplit
from core.ratings.board import ranked

COUNT_SECONDS = 5.0
"""How long numbers of agents and tasks are kept: counting them reads every agent."""


class Leader(NamedTuple):
    """The first of a leaderboard: its agent, number of its version, owner and rating."""

    agent: str
    number: int
    owner: str
    value: float


class Best(NamedTuple):
    """The first of a board of scores: the key of its evaluation, its agent and score."""

    pk: int
    agent: str
    score: float
    is_verified: bool


class Figures(NamedTuple):
    """How many agents and owners take part in an environment, who leads where agents play duels, and who has the best
    score elsewhere. task_count: the tasks of an application that everyone sees."""

    agent_count: int = 0
    user_count: int = 0
    leader: Leader | None = None
    best: Best | None = None
    task_count: int = 0


@dataclass(frozen=True, slots=True)
class EnvironmentCard:
    environment: Environment
    figures: Figures


def environment_cards(viewer: Viewer) -> list[EnvironmentCard]:
    """Active environments that lists show a person. Who is first is up to a second old, numbers up to five."""
    firsts = cached("cards:first", dict[int, Figures], lambda: _figures(_FIRSTS))
    # Counted at once when the first agent of an environment is ranked.
    led, count = ",".join(map(str, sorted(firsts))), lambda: _figures(_COUNTS)
    counts = cached("cards:counts", dict[int, Figures], count, version=led, seconds=COUNT_SECONDS)
    both = {key: counts.get(key, Figures())._replace(leader=row.leader, best=row.best) for key, row in firsts.items()}
    found, rows = counts | both, listed(Environment.objects.filter(is_active=True), viewer)
    return [EnvironmentCard(row, found.get(row.pk, Figures())) for row in rows]


def environment_figures(environment: Environment) -> Figures:
    """The figures of one environment. Two queries."""
    lookups = _APPLICATION if environment.is_app else _BOARD if environment.is_scored else _GAME
    return _figures(lookups, environment.pk).get(environment.pk, Figures())


Part = tuple[Lookup, Callable[..., dict[str, Any]]]
"""A query whose rows begin with the key of an environment, and what makes a part of its figures from the rest."""


def _figures(parts: Sequence[Part], *environment: int) -> dict[int, Figures]:
    """The figures by environment. environment: the key of the only one."""
    found: dict[int, Figures] = {}
    for lookup, part in parts:
        for key, *row in lookup(*environment):
            found[key] = found.get(key, Figures())._replace(**part(*row))
    return found


def _counts(rows: QuerySet[Any], environment: tuple[int, ...]) -> QuerySet[Any, Any]:
    """How many agents are in rows, and how many owners they have, by environment."""
    rows = _of(rows, environment, "agent__environment").filter(agent__is_disabled=False, agent__owner__is_active=True)
    numbers = Count("agent", distinct=True), Count("agent__owner", distinct=True)
    return rows.order_by().values("agent__environment").values_list("agent__environment", *numbers)


def _of(rows: QuerySet[Any], environment: tuple[int, ...], name: str) -> QuerySet[Any]:
    return rows.filter(**{name: environment[0]}) if environment else rows


# What an agent is counted by differs, and one query for all would let PostgreSQL compare every submission with every
# agent.
def _playing(*environment: int) -> QuerySet[Any, Any]:
    return _counts(Submission.objects.active().filter(agent__environment__seats__gt=1), environment)


def _on_board(*environment: int) -> QuerySet[Any, Any]:
    return _counts(Evaluation.objects.filter(is_current=True, submission__deleted_at=None), environment)


def _at_work(*environment: int) -> QuerySet[Any, Any]:
    ranked = Rollout.objects.filter(submission=OuterRef("pk"), is_ranked=True).exclude(outcome="")
    return _counts(Submission.objects.filter(Exists(ranked), deleted_at=None), environment)


def _tasks(*environment: int) -> QuerySet[Any, Any]:
    rows = _of(Task.objects.filter(is_current=True, archived_at=None), environment, "environment").order_by()
    return rows.exclude(split=TaskSplit.HIDDEN).values("environment").values_list("environment", Count("pk"))


def _leaders(*environment: int) -> QuerySet[Any, Any]:
    first = ranked(OuterRef("pk")).values("pk")[:1]
    chosen = _of(Environment.objects.order_by(), environment, "pk").values(first=Subquery(first))
    names = ("agent__environment", "agent__name", "number", "agent__owner__username")
    return Rating.objects.filter(pk__in=chosen).values_list(*(f"submission__{name}" for name in names), "value")


def _best(*environment: int) -> QuerySet[Any, Any]:
    # Like `standing`, for all environments at once, verified ones before others.
    board = Evaluation.objects.filter(environment=OuterRef("pk"), is_current=True, submission__deleted_at=None)
    board = board.filter(agent__is_disabled=False, agent__owner__is_active=True)
    first = board.order_by("-is_verified", "-score", "created_at", "pk").values("pk")[:1]
    chosen = _of(Environment.objects.order_by(), environment, "pk").values(first=Subquery(first))
    rows = Evaluation.objects.filter(pk__in=chosen).order_by()
    return rows.values_list("environment", "pk", "agent__name", "score", "is_verified")


def _counted(agents: int, users: int) -> dict[str, Any]:
    return {"agent_count": agents, "user_count": users}


def _best_of(pk: int, agent: str, score: float, is_verified: bool) -> dict[str, Any]:
    # SQLite has numbers for booleans.
    return {"best": Best(pk, agent, score, bool(is_verified))}


def _parts(lookup: Callable[..., Lookup]) -> tuple[list[Part], list[Part], list[Part]]:
    """Return the parts of a game, of a board of scores and of an application."""
    return (
        [(lookup(_playing), _counted), (lookup(_leaders), lambda *row: {"leader": Leader(*row)})],
        [(lookup(_on_board), _counted), (lookup(_best), _best_of)],
        [(lookup(_at_work), _counted), (lookup(_tasks), lambda count: {"task_count": count})],
    )


_GAME, _BOARD, _APPLICATION = _parts(Lookup)
_of_games, _of_boards, _of_applications = _parts(ByKey)
_COUNTS, _FIRSTS = [_of_games[0], _of_boards[0], *_of_applications], [_of_games[1], _of_boards[1]]
