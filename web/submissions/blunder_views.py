"""The positions that a person's agent may learn from: a part of its page, and a page of all."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.models import Agent
from core.submissions.blunders import BlunderShown, blunders_may_see, blunders_shown, blunders_visible, drill_scores
from core.submissions.selectors import agent_get
from core.tournaments.results import Viewer
from web.site.requests import page_number, viewer_of

SHOWN = 3
BLUNDERS_A_PAGE = 12


@dataclass(frozen=True, slots=True)
class BlundersPart:
    """The newest positions. count: of all. scores: number, found and asked by version, the newest first."""

    shown: list[BlunderShown]
    count: int
    scores: list[tuple[int, int, int]]


def blunders_part(agent: Agent, viewer: Viewer) -> BlundersPart | None:
    """Return what the page of an agent shows of its blunders; None without any that the viewer sees."""
    rows = blunders_visible(agent, viewer)
    # Few agents have any, and the query of what is shown joins many tables.
    newest = list(rows[:SHOWN]) if agent.blunders.exists() else []
    return BlundersPart(blunders_shown(newest), rows.count(), drill_scores(rows)[:SHOWN]) if newest else None


@login_required
@require_safe
def blunders(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Show all positions in which versions of an agent gave something away, for its owner and organisers."""
    viewer = viewer_of(request)
    try:
        agent = agent_get(slug, name, viewer)
    except Agent.DoesNotExist:
        raise Http404("There is no such agent in this environment.") from None
    if not blunders_may_see(agent, viewer):
        raise Http404("Only the owner of an agent sees its positions.")
    rows = blunders_visible(agent, viewer)
    page = Paginator(rows, BLUNDERS_A_PAGE).get_page(page_number(request.GET))
    context = {
        "agent": agent,
        "environment": agent.environment,
        "page": page,
        "shown": blunders_shown(list(page)),
        "scores": drill_scores(rows),
    }
    return render(request, "web/submissions/blunders_page.html", context)
