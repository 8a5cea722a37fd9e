"""The leaderboard of an environment with duels at a moment of the past."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from core.models import Environment, RatingPoint
from core.ratings.history import history_begins, leaderboard_as_of
from web.evaluations.parts import page_number
from web.ratings.as_of import AsOfForm
from web.ratings.parts import past_ratings
from web.site.fragments import render_page

ROWS_A_PAGE = 50


def past_page(request: HttpRequest, context: dict[str, Any], form: AsOfForm, fragments: dict[str, str]) -> HttpResponse:
    """Show the environment's page with a leaderboard of the past.

    context: of all environments' pages. form: the moment that the address asks for; if it is invalid, the page shows
    the error and no table.
    """
    row: Environment = context["environment"]
    base = reverse("web:environment", args=[row.slug])
    moment = form.moment
    found = leaderboard_as_of(row, moment) if moment else None
    points: tuple[RatingPoint, ...] = found.points if found else ()
    table = Paginator(points, ROWS_A_PAGE).get_page(page_number(request.GET))
    context |= {
        "base": base,
        "page": f"{base}?{request.GET.urlencode()}",
        "as_of": form,
        "moment": moment,
        "kept_at": found.at if found else None,
        "begins": None if found else history_begins(row),
        "past": past_ratings(table.object_list),
        "table": table,
        "is_live": False,
    }
    status = 200 if form.is_valid() else 400
    return render_page(
        request,
        "web/environments/environment.html",
        context,
        {**fragments, "leaderboard": "web/environments/past.html"},
        status,
    )
