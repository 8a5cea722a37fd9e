"""The leaderboard of an environment with duels at a moment of the past."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from core.models import Environment, RatingPoint
from core.ratings.history import history_begins, leaderboard_as_of
from web.ratings.parts import past_ratings
from web.site.forms import AsOfForm
from web.site.fragments import render_page
from web.site.requests import page_number

ROWS_A_PAGE = 50


def past_page(request: HttpRequest, context: dict[str, Any], form: AsOfForm, fragments: dict[str, str]) -> HttpResponse:
    """Show the environment's page with a leaderboard of the past.

    context: of all environments' pages. form: the moment that the address asks for; if it is invalid, the page shows
    the error and no table.
    """
    base = reverse("web:environment", args=[context["environment"].slug])
    context |= _leaderboard(context["environment"], form.moment, page_number(request.GET)) | {
        "base": base,
        "page": f"{base}?{request.GET.urlencode()}",
        "as_of": form,
        "is_live": False,
    }
    fragments = {**fragments, "leaderboard": "web/environments/past.html"}
    status = 200 if form.is_valid() else 400
    return render_page(request, "web/environments/environment.html", context, fragments, status)


def _leaderboard(row: Environment, moment: datetime | None, number: int) -> dict[str, Any]:
    """Return a page of the last leaderboard stored before a moment; empty if none was stored."""
    found = leaderboard_as_of(row, moment) if moment else None
    points: tuple[RatingPoint, ...] = found.points if found else ()
    table = Paginator(points, ROWS_A_PAGE).get_page(number)
    return {
        "moment": moment,
        "kept_at": found.at if found else None,
        "begins": None if found else history_begins(row),
        "past": past_ratings(table.object_list),
        "table": table,
    }
