"""The page of an application, whose board counts solved tasks."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from core.models import Environment
from core.rollouts.board import board
from core.rollouts.permissions import archive_visible, may_ask
from core.rollouts.reading import newest_package
from core.rollouts.selectors import batch_rows, tasks_current
from web.site.fragments import render_page
from web.site.requests import viewer_of
from web.site.whiskers import whiskers

BATCHES_SHOWN = 8


def application_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Render the page of an application. context: that of every environment's page."""
    row: Environment = context["environment"]
    viewer = viewer_of(request)
    found = board(row)
    spans = [
        (each.interval.low, each.success.value or 0.0, each.interval.high) if each.interval else (0.0, 0.0, 0.0)
        for each in found.rows
    ]
    package = newest_package(row)
    context |= {
        "base": reverse("web:environment", args=[row.slug]),
        "page": reverse("web:environment", args=[row.slug]),
        "board": found,
        "rows": list(zip(found.rows, whiskers([*spans, (0.0, 0.0, 1.0)])[0], strict=False)),
        "package": package,
        "can_download": package is not None and archive_visible(package, viewer),
        "task_count": tasks_current(viewer, row).count(),
        "batches": list(batch_rows(viewer).filter(environment=row)[:BATCHES_SHOWN]),
        "may_ask": may_ask(viewer),
        "is_live": context["is_waiting"] or any(each.open_count for each in found.rows),
        "username": viewer.username,
    }
    fragments = {"leaderboard": "web/rollouts/board.html", "own-agents": "web/environments/own_agents.html"}
    return render_page(request, "web/rollouts/application.html", context, fragments)
