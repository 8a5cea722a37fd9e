"""Pages of environments that are ranked by score: the board, and comparisons of submissions."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from core.evaluations.comparison import COMPARED, compare
from core.evaluations.episodes import spec_or_none
from core.evaluations.selectors import board_can_change
from core.models import Environment, User
from web.comparisons.parts import Asked, offered
from web.evaluations.board_parts import (
    BoardForm,
    board_view,
    constants,
    distributions,
    pairs,
    side_by_side,
)
from web.site.fragments import render_page

Context = dict[str, Any]
FRAGMENTS = {"leaderboard": "web/evaluations/board.html", "own-agents": "web/environments/own_agents.html"}


def scored_page(request: HttpRequest, context: Context) -> HttpResponse:
    """Render the page of an environment that is ranked by score. context: that of every environment's page."""
    row: Environment = context["environment"]
    spec = spec_or_none(row.spec_id)
    solved = spec.solved_score if spec else None
    base = reverse("web:environment", args=[row.slug])
    username = request.user.username if isinstance(request.user, User) else ""
    context |= {
        "base": base,
        "page": f"{base}?{request.GET.urlencode()}" if request.GET else base,
        "board": board_view(row, request.GET, username, solved),
        "filter": BoardForm(request.GET, auto_id="board_%s"),
        "solved": solved,
        "most": COMPARED,
        "is_live": context["is_waiting"] or board_can_change(row),
    }
    return render_page(request, "web/evaluations/environment.html", context, FRAGMENTS)


def scores_compared(request: HttpRequest, row: Environment, asked: Asked) -> HttpResponse:
    """Render the comparison of up to COMPARED submissions by their scores."""
    found = compare(row, [one.public_id for one in asked.versions])
    compared = side_by_side(found.evaluations)
    context: Context = {
        "environment": row,
        "asked": asked,
        "offered": offered(row),
        "compared": compared,
        "pairs": pairs(compared, found.differences),
        "chart": distributions(compared),
        "constants": constants(compared),
        "most": COMPARED,
        "missing": len(asked.versions) - len(compared),
    }
    return render(request, "web/evaluations/compare.html", context)
