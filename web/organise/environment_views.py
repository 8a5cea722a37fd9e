"""The organisers' page of environments."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Case, Count, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from arena_kit.environment.registry import left_out
from core.evaluations.episodes import spec_or_none
from core.evaluations.selectors import ranking_lists_read
from core.models import Agent, Environment, Tournament
from web.site.organisers import organisers
from web.site.requests import page_number

A_PAGE = 50


@organisers("core.view_environment")
def environments(request: HttpRequest) -> HttpResponse:
    """Show the environments: those that are not available first, with the reason."""
    # Each counted by itself: joined, they would be as many rows as their product.
    rows = Environment.objects.annotate(agent_count=_count(Agent), tournament_count=_count(Tournament))
    missing = Case(When(Q(is_active=True) & ~Q(unavailable_because=""), then=Value(0)), default=Value(1))
    rows = rows.prefetch_related(ranking_lists_read())
    shown = Paginator(rows.order_by(missing, "name"), A_PAGE).get_page(page_number(request.GET))
    context = {
        "tab": "organise_environments",
        "page": shown,
        "left_out": left_out(),
        "rows": [(row, _openings(row)) for row in shown.object_list],
    }
    return render(request, "web/organise/environments.html", context)


def _count(model: type[Agent | Tournament]) -> Coalesce:
    """Return the number of rows of an environment, for a query of environments."""
    rows = model._default_manager.filter(environment=OuterRef("pk")).order_by().values("environment")
    return Coalesce(Subquery(rows.values(count=Count("pk"))), 0)


def _openings(row: Environment) -> str:
    """Return how the matches of an environment begin, in words; empty where they have no openings."""
    spec = spec_or_none(row.spec_id)
    if spec is None or spec.openings is None:
        return ""
    if spec.openings.is_book:
        return "from a book"
    low, high = spec.openings.plies
    return f"{low} to {high} random plies" if low != high else f"{low} random plies"
