"""The calendar: tournaments of all environments."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from core.tournaments.calendar import (
    tournament_past_list,
    tournament_past_rows,
    tournament_planned_list,
    tournament_running_list,
)
from web.site.requests import page_number

PAST_A_PAGE = 25


def calendar(request: HttpRequest) -> HttpResponse:
    """Show what is played now and what is planned, and the tournaments and last editions that are over."""
    page = Paginator(tournament_past_rows(None), PAST_A_PAGE).get_page(page_number(request.GET))
    context = {
        "running": tournament_running_list(None),
        "planned": tournament_planned_list(None, now=timezone.now()),
        "past": tournament_past_list(page.object_list),
        "page": page,
    }
    return render(request, "web/tournaments/calendar.html", context)
