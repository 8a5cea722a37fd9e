"""Pages of an environment and its editions."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse

from core.models import Environment, Tournament, TournamentState
from core.submissions.outlook import edition_expected
from core.tournaments.ladder_selectors import ladder_outlook
from core.tournaments.results import results_visible, withheld_because
from core.tournaments.selectors import (
    edition_window,
    tournament_latest,
    tournament_progress,
)
from web.environments.application_page import application_page
from web.environments.parts import board_parts, edition_table
from web.evaluations.board_page import scored_page
from web.ratings.past_page import past_page
from web.site.forms import AsOfForm
from web.site.fragments import render_page
from web.site.refusals import explained
from web.site.requests import viewer_of
from web.tournaments.bracket_page import tournament_page
from web.tournaments.ladder_page import TABLE, ladder_page, ladder_table

FRAGMENTS = {
    "leaderboard": "web/environments/leaderboard.html",
    "own-agents": "web/environments/own_agents.html",
}


def environment(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the leaderboard and the viewer's agents."""
    row = get_object_or_404(Environment, slug=slug)
    return environment_page(request, row)


@explained
def edition(request: HttpRequest, slug: str, edition: int) -> HttpResponseBase:
    """Show the page of an environment with one edition."""
    row = get_object_or_404(Environment, slug=slug)
    # Through the environment, so that its many columns are not read again.
    tournament = row.tournaments.select_related("season").filter(edition=edition).first()
    if tournament is None:
        raise Http404(f"{row} has no edition {edition}.")
    if tournament.is_ladder and tournament.state != TournamentState.PLANNED:
        return ladder_page(request, tournament)
    if not tournament.is_automatic:
        return tournament_page(request, tournament)
    context = {
        **board_parts(request.user, row),
        **_table(request, row, tournament, is_newest=tournament == tournament_latest(row)),
        **_address(request, request.path),
        "section": "edition",
        "shown_edition": edition,
        "is_live": tournament.state == TournamentState.RUNNING,
    }
    return render_page(request, "web/environments/environment.html", context, FRAGMENTS)


def environment_page(request: HttpRequest, row: Environment) -> HttpResponse:
    """Render the page with the board or the newest edition; it refreshes itself while results can still change."""
    context = board_parts(request.user, row)
    if row.is_app:
        return application_page(request, context)
    if row.is_scored:
        return scored_page(request, context)
    if request.GET.get("as_of"):
        return past_page(request, context, AsOfForm(request.GET), FRAGMENTS)
    context |= {
        **_table(request, row, tournament_latest(row), is_newest=True),
        **_address(request, reverse("web:environment", args=[row.slug])),
    }
    context["ladder_outlook"] = ladder_outlook(row)
    context["is_live"] = context["is_running"] or context["is_waiting"] or edition_expected(row)
    is_ladder = context["tournament"] is not None and context["tournament"].is_ladder
    fragments = FRAGMENTS | {"leaderboard": TABLE} if is_ladder else FRAGMENTS
    return render_page(request, "web/environments/environment.html", context, fragments)


def _address(request: HttpRequest, base: str) -> dict[str, str]:
    """Return the page's address as `base`, and with the query string as `page`, from which live parts refresh."""
    return {"base": base, "page": f"{base}?{request.GET.urlencode()}" if request.GET else base}


def _table(request: HttpRequest, row: Environment, tournament: Tournament | None, *, is_newest: bool) -> dict[str, Any]:
    """Return the table of an edition or ladder, or why its results are withheld."""
    if tournament is None:
        return {"tournament": None, "is_running": False}
    viewer = viewer_of(request)
    is_visible = results_visible(tournament, viewer)
    if is_visible and tournament.is_ladder:
        return ladder_table(request, tournament)
    if is_visible:
        shown = edition_table(request.GET, viewer, tournament, is_newest=is_newest)
    else:
        shown = {"withheld": withheld_because(tournament)}
    return {
        **shown,
        "tournament": tournament,
        "is_running": tournament.state == TournamentState.RUNNING,
        "progress": tournament_progress(tournament),
        "window": edition_window(row, tournament.edition),
    }
