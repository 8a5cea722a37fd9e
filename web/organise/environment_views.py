"""The organisers' page of environments."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Case, Count, Q, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from core.evaluations.episodes import spec_or_none
from core.models import Environment
from web.site.organisers import organisers
from web.site.requests import page_number

A_PAGE = 50


@organisers("core.view_environment")
def environments(request: HttpRequest) -> HttpResponse:
    """Show the environments: those that are not available first, with the reason."""
    rows = Environment.objects.annotate(
        agent_count=Count("agents", distinct=True), tournament_count=Count("tournaments", distinct=True)
    )
    missing = Case(When(Q(is_active=True) & ~Q(unavailable_because=""), then=Value(0)), default=Value(1))
    shown = Paginator(rows.order_by(missing, "name"), A_PAGE).get_page(page_number(request.GET))
    context = {
        "tab": "organise_environments",
        "page": shown,
        "rows": [(row, _openings(row)) for row in shown.object_list],
    }
    return render(request, "web/organise/environments.html", context)


def _openings(row: Environment) -> str:
    """Return how the matches of an environment begin, in words; empty where they have no openings."""
    spec = spec_or_none(row.spec_id)
    if spec is None or spec.openings is None:
        return ""
    if spec.openings.is_book:
        return "from a book"
    low, high = spec.openings.plies
    return f"{low} to {high} random plies" if low != high else f"{low} random plies"
