"""The organisers' page of agents."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from core.models import Agent, Environment
from web.site.organisers import organisers
from web.site.requests import page_number

A_PAGE = 50
SHOWN = {
    "all": Q(),
    "disabled": Q(is_disabled=True, quarantined_at=None),
    "paused": Q(quarantined_at__isnull=False),
    "public": Q(is_public=True),
}
"""Which agents each filter shows."""


@organisers("core.view_agent")
def agents(request: HttpRequest) -> HttpResponse:
    """Show the agents, found by words, environment and a filter."""
    query, shown = request.GET.get("q", "").replace("\0", "")[:100], request.GET.get("show", "all")
    slug = request.GET.get("environment", "").replace("\0", "")
    rows = Agent.objects.select_related("environment", "owner").annotate(version_count=Count("submissions"))
    for word in query.split():
        rows = rows.filter(Q(name__icontains=word) | Q(owner__username__icontains=word) | Q(owner__email__iexact=word))
    rows = rows.filter(SHOWN.get(shown, Q()), **({"environment__slug": slug} if slug else {}))
    context = {
        "tab": "organise_agents",
        "query": query,
        "show": shown,
        "filters": (("all", "All"), ("disabled", "Disabled"), ("paused", "Paused for crashing"), ("public", "Public")),
        "slug": slug,
        "environments": Environment.objects.order_by("name").only("name", "slug"),
        "page": Paginator(rows.order_by("-pk"), A_PAGE).get_page(page_number(request.GET)),
    }
    return render(request, "web/organise/agents.html", context)
