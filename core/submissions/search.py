"""The search on the site: agents, people and environments by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from django.db.models import Case, Exists, Model, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Lower

from core.courses.sight import listed
from core.models import Agent, Environment, FormerName, User
from core.models.user import ANONYMOUS_EMAIL
from core.submissions.tries import agents_listed
from core.tournaments.results import Viewer

Row = TypeVar("Row", bound=Model)


def agent_search(words: Sequence[str], viewer: Viewer, *, limit: int) -> list[Agent]:
    """Return agents whose name, owner or environment has each word, those that begin with the first one first.

    `once` is a former name that has the first word, None where the name itself has it.
    """
    former = FormerName.objects.filter(agent=OuterRef("pk"), name__icontains=words[0]).order_by("-pk")
    rows = agents_listed(Agent.objects.all(), viewer).annotate(
        once=Case(When(name__icontains=words[0], then=None), default=Subquery(former.values("name")[:1]))
    )
    rows = rows.filter(
        _each(words, "name", "once", "owner__username", "environment__name"), environment__is_active=True
    )
    rows = rows.annotate(called=Coalesce("once", "name"))
    return list(_by_name(rows.select_related("owner", "environment"), "called", words)[:limit])


def user_search(words: Sequence[str], viewer: Viewer, *, limit: int) -> list[User]:
    """Return people with an agent and an open account whose user name or team has each word."""
    rows = User.objects.filter(_each(words, "username", "team"), is_active=True).exclude(email=ANONYMOUS_EMAIL)
    rows = rows.filter(Exists(listed(Agent.objects.filter(owner=OuterRef("pk")), viewer)))
    return list(_by_name(rows, "username", words)[:limit])


def environment_search(words: Sequence[str], viewer: Viewer, *, limit: int) -> list[Environment]:
    """Return active environments whose name, id or description has each word."""
    rows = Environment.objects.filter(
        _each(words, "name", "env_id", "slug") | _in_text(words, "description"), is_active=True
    )
    return list(_by_name(listed(rows, viewer), "name", words)[:limit])


def _each(words: Sequence[str], *columns: str) -> Q:
    """Return the condition that every word is in one of the columns, ignoring case."""
    condition = Q()
    for word in words:
        condition &= Q(*[(f"{column}__icontains", word) for column in columns], _connector=Q.OR)
    return condition


def _in_text(words: Sequence[str], column: str) -> Q:
    """Return the condition that a text has each word, or a longer one that begins with it."""
    return Q(*[(f"{column}__iregex", rf"(^|[^a-zA-Z0-9]){re.escape(word)}") for word in words])


def _by_name(rows: QuerySet[Row], column: str, words: Sequence[str]) -> QuerySet[Row]:
    begins = Case(When(**{f"{column}__istartswith": words[0]}, then=Value(0)), default=Value(1))
    return rows.order_by(begins, Lower(column), "pk")
