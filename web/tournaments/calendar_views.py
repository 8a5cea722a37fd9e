"""Lists of tournaments: those of all environments, of one, and of a season."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from core.models import Environment, Season
from core.tournaments.calendar import (
    tournament_past_list,
    tournament_past_rows,
    tournament_planned_list,
    tournament_running_list,
)
from core.tournaments.seasons import SeasonTable, season_list, season_table
from web.site.exports import Row, exported
from web.site.requests import page_number, viewer_of

PAST_A_PAGE = 25


def calendar(request: HttpRequest) -> HttpResponse:
    """Show what is played now and what is planned, and the tournaments and last editions that are over."""
    viewer = viewer_of(request)
    page = Paginator(tournament_past_rows(None, viewer), PAST_A_PAGE).get_page(page_number(request.GET))
    context = {
        "running": tournament_running_list(None, viewer),
        "planned": tournament_planned_list(None, now=timezone.now(), viewer=viewer),
        "past": tournament_past_list(page.object_list),
        "page": page,
    }
    return render(request, "web/tournaments/calendar.html", context)


def tournament_list(request: HttpRequest, slug: str) -> HttpResponse:
    """The running, planned and past tournaments of an environment."""
    environment = get_object_or_404(Environment, slug=slug)
    page = Paginator(tournament_past_rows(environment), PAST_A_PAGE).get_page(page_number(request.GET))
    context = {
        "environment": environment,
        "running": tournament_running_list(environment),
        "planned": tournament_planned_list(environment, now=timezone.now()),
        "past": tournament_past_list(page.object_list),
        "page": page,
        "seasons": season_list(environment),
    }
    return render(request, "web/tournaments/list.html", context)


def season(request: HttpRequest, slug: str, season_id: int) -> HttpResponse:
    """A season's table, summed up over the tournaments that count; with `format=csv` as a file."""
    row = get_object_or_404(Season.objects.select_related("environment"), environment__slug=slug, pk=season_id)
    table = season_table(row)
    if request.GET.get("format") == "csv":
        return exported("csv", f"{slug}-season-{row.pk}", _records(table))
    context = {"season": row, "environment": row.environment, "table": table}
    return render(request, "web/tournaments/season.html", context)


def _records(table: SeasonTable) -> list[Row]:
    """Return the rows of a season's table, with a column for each tournament."""
    columns = [f"edition {one.edition}" + (f": {one.name}" if one.name else "") for one in table.tournaments]
    return [
        {
            "rank": row.rank,
            "agent": row.agent.name,
            "owner": row.agent.owner.username,
            "team": row.agent.owner.team,
            "points": row.total,
            **dict(zip(columns, row.points, strict=True)),
        }
        for row in table.rows
    ]
