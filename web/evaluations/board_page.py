"""Pages of environments that are ranked by score: the board, and comparisons of submissions."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from core.evaluations.comparison import COMPARED
from core.evaluations.episodes import spec_or_none
from core.evaluations.selectors import board_can_change
from core.models import Environment, User
from web.evaluations.board_parts import BoardForm, board_view
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
