"""Pages of an environment and its editions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse

from core.models import Agent, Environment, Tournament, TournamentState, User
from core.people.rights import may, roles_of
from core.submissions.outlook import edition_expected
from core.submissions.selectors import OwnAgent, own_agent_list
from core.tournaments.ladder_selectors import ladder_outlook
from core.tournaments.results import results_visible, withheld_because
from core.tournaments.selectors import (
    edition_window,
    tournament_latest,
    tournament_progress,
)
from core.watching.shown import STILL_SECONDS, environment_shown, now_shown
from web.environments.application_page import application_page
from web.environments.parts import board_parts, edition_table
from web.evaluations.board_page import scored_page
from web.ratings.board import board_table
from web.ratings.past_page import past_page
from web.site.context_processors import unread_shown
from web.site.forms import AsOfForm
from web.site.fragments import render_page
from web.site.kept import for_one_reader
from web.site.refusals import explained
from web.site.requests import viewer_of
from web.tournaments.bracket_page import tournament_page
from web.tournaments.ladder_page import ladder_page

FRAGMENTS = {
    "leaderboard": "web/ratings/leaderboard.html",
    "own-agents": "web/environments/own_agents.html",
}
EDITION_FRAGMENTS = {**FRAGMENTS, "leaderboard": "web/environments/edition_table.html"}


def environment(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the leaderboard and the viewer's agents."""
    row = get_object_or_404(Environment, slug=slug)
    return _kept(request, row, lambda own: environment_page(request, row, own))


@explained
def edition(request: HttpRequest, slug: str, edition: int) -> HttpResponseBase:
    """Show the page of an environment with one edition."""
    row = get_object_or_404(Environment, slug=slug)
    # Through the environment, so that its many columns are not read again.
    tournament = row.tournaments.select_related("season").filter(edition=edition).first()
    if tournament is None:
        raise Http404(f"{row} has no edition {edition}.")
    if tournament.is_ranked_by_rating and tournament.state != TournamentState.PLANNED:
        return ladder_page(request, tournament)
    if not tournament.is_automatic:
        return tournament_page(request, tournament)

    def make(own: list[OwnAgent]) -> HttpResponse:
        context = {
            **board_parts(row, own),
            **_edition(request, tournament, _owner(request, own)),
            **_address(request, request.path),
            "section": "edition",
            "is_live": tournament.state == TournamentState.RUNNING,
        }
        return render_page(request, "web/environments/edition.html", context, EDITION_FRAGMENTS)

    return _kept(request, row, make)


def _kept(request: HttpRequest, row: Environment, make: Callable[[list[OwnAgent]], HttpResponse]) -> HttpResponse:
    """Return a page that shows no more than strangers may see of an environment, and the viewer's agents."""
    viewer = request.user
    own = own_agent_list(row, viewer) if isinstance(viewer, User) else []

    def facts() -> list[object]:
        shown = environment_shown(row.slug) or now_shown()
        assert isinstance(viewer, User)
        agents = [[field.value_from_object(one.agent) for field in Agent._meta.concrete_fields] for one in own]
        return [
            *[shown.version, shown.seconds == STILL_SECONDS or int(time.time()), agents, own, unread_shown(request)],
            *[roles_of(viewer), may(viewer, "core.view_environment")],
        ]

    return for_one_reader(request, facts, lambda: make(own))


def environment_page(request: HttpRequest, row: Environment, own: list[OwnAgent]) -> HttpResponse:
    """Render the page with the leaderboard; it refreshes itself while results can still change."""
    context = board_parts(row, own)
    if row.is_app:
        return application_page(request, context)
    if row.is_scored:
        return scored_page(request, context)
    if request.GET.get("as_of"):
        return past_page(request, context, AsOfForm(request.GET), FRAGMENTS)
    newest = tournament_latest(row)
    running = newest if newest is not None and newest.state == TournamentState.RUNNING else None
    context |= {
        **board_table(request.GET, viewer_of(request), row, owner=_owner(request, own)),
        **_address(request, reverse("web:environment", args=[row.slug])),
        "newest": newest,
        "is_running": running is not None,
        "progress": running and tournament_progress(running),
        "ladder_outlook": ladder_outlook(row),
        "is_live": running is not None or context["is_waiting"] or edition_expected(row),
    }
    return render_page(request, "web/environments/environment.html", context, FRAGMENTS)


def _address(request: HttpRequest, base: str) -> dict[str, str]:
    """Return the page's address as `base`, and with the query string as `page`, from which live parts refresh."""
    return {"base": base, "page": f"{base}?{request.GET.urlencode()}" if request.GET else base}


def _owner(request: HttpRequest, own: list[OwnAgent]) -> int | None:
    """Return the key of the viewer, if any agent is theirs."""
    return request.user.pk if own else None


def _edition(request: HttpRequest, tournament: Tournament, owner: int | None) -> dict[str, Any]:
    """Return the table of an edition, or why its results are withheld."""
    viewer = viewer_of(request)
    is_visible = results_visible(tournament, viewer)
    return {
        **(
            edition_table(request.GET, viewer, tournament, owner=owner)
            if is_visible
            else {"withheld": withheld_because(tournament)}
        ),
        "tournament": tournament,
        "is_running": tournament.state == TournamentState.RUNNING,
        "progress": tournament_progress(tournament),
        "window": edition_window(tournament.environment, tournament.edition),
    }
