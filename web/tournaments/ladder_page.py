"""The page of a ladder: its table, the next duels and why, the last results, and agents that wait."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from core.models import Tournament, TournamentState
from core.ratings.tables import own_places
from core.tournaments.fields import active_field
from core.tournaments.ladder_selectors import ladder_duels
from core.tournaments.results import results_check
from core.tournaments.selectors import edition_window, rating_pool_get
from core.tournaments.tables import table_rows
from web.ratings.parts import with_ratings
from web.site.fragments import render_page
from web.site.requests import page_number, viewer_of
from web.site.tables import ROWS_A_PAGE, TableForm, own_elsewhere

FRAGMENTS = {"leaderboard": "web/tournaments/ladder_table.html", "ladder-duels": "web/tournaments/ladder_duels.html"}


def ladder_page(request: HttpRequest, tournament: Tournament) -> HttpResponse:
    """The page of a ladder, which is an edition of its environment. Raises Withheld."""
    results_check(tournament, viewer_of(request))
    environment = tournament.environment
    is_running = tournament.state == TournamentState.RUNNING
    base = reverse("web:edition", args=[environment.slug, tournament.edition])
    context = {
        "environment": environment,
        "base": base,
        "page": f"{base}?{request.GET.urlencode()}" if request.GET else base,
        "duels": ladder_duels(tournament),
        "aside": active_field(environment).aside if is_running else (),
        **_table(request, tournament),
    }
    return render_page(request, "web/tournaments/ladder.html", context, FRAGMENTS)


def _table(request: HttpRequest, tournament: Tournament) -> dict[str, Any]:
    """Return a page of a ladder's agents, by rating; after its end, with the ratings of that time."""
    is_running = tournament.state == TournamentState.RUNNING
    form = TableForm(request.GET, auto_id="table_%s")
    wanted = form.wanted
    rows = table_rows(tournament, wanted).filter(withdrawn_at=None)
    table = Paginator(rows, ROWS_A_PAGE).get_page(page_number(request.GET))
    return {
        "tournament": tournament,
        "is_running": is_running,
        "is_live": is_running,
        "rows": with_ratings(table.object_list),
        "pool": rating_pool_get(tournament.environment) if is_running else None,
        "table": table,
        "wanted": wanted,
        "filter": form,
        # The table of a ladder lists no agents that have left.
        "own_elsewhere": own_elsewhere(request.user, lambda owner: own_places(rows, owner), wanted, table),
        "window": edition_window(tournament.environment, tournament.edition),
    }
