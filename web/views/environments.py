"""An environment and its editions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse

from core.models import Environment, Tournament, TournamentState, User
from core.selectors.agents import edition_expected, own_agent_list
from core.selectors.tournaments import (
    edition_window,
    environment_groups,
    participant_list,
    tournament_latest,
    tournament_progress,
)
from example_players.package import make_archive, names
from web.forms import AgentForm, agent_form
from web.fragments import render_page
from web.quotas import upload_quotas
from web.views.boards import scored_page

FRAGMENTS = {
    "leaderboard": "web/environment/leaderboard.html",
    "own-agents": "web/environment/own_agents.html",
}


def environment(request: HttpRequest, slug: str) -> HttpResponse:
    """Description, upload, own agents, and the newest edition."""
    row = get_object_or_404(Environment, slug=slug)
    return environment_page(request, row, agent_form(row)())


def edition(request: HttpRequest, slug: str, edition: int) -> HttpResponse:
    """The same page on one edition."""
    row = get_object_or_404(Environment, slug=slug)
    tournament = Tournament.objects.filter(environment=row, edition=edition).first()
    if tournament is None:
        raise Http404(f"{row} has no edition {edition}.")
    context = {
        **_common(request, row, AgentForm()),
        **_table(row, tournament),
        "page": request.path,
        "shown_edition": edition,
        "is_live": tournament.state == TournamentState.RUNNING,
    }
    return render_page(request, "web/environment/environment.html", context, FRAGMENTS)


def environment_page(request: HttpRequest, row: Environment, form: AgentForm, status: int = 200) -> HttpResponse:
    """The page on the board or the newest edition. It is live while anything can still change it."""
    if row.is_scored:
        return scored_page(request, _common(request, row, form), status)
    context = {
        **_common(request, row, form),
        **_table(row, tournament_latest(row)),
        "page": reverse("web:environment", args=[row.slug]),
    }
    context["is_live"] = context["is_running"] or context["is_waiting"] or edition_expected(row)
    return render_page(request, "web/environment/environment.html", context, FRAGMENTS, status)


def starter_kit(request: HttpRequest, name: str) -> HttpResponse:
    """An example player as a zip; what it has learned for `?environment=` is in it when the arena has trained it."""
    environment = request.GET.get("environment", "")
    try:
        archive = make_archive(name, environment, store=settings.DATA_DIR / "examples")
    except LookupError as error:
        raise Http404(str(error)) from None
    response = HttpResponse(archive, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    return response


def _common(request: HttpRequest, row: Environment, form: AgentForm) -> dict[str, Any]:
    own_agents = own_agent_list(row, request.user) if isinstance(request.user, User) else []
    return {
        "environment": row,
        "form": form,
        "quotas": upload_quotas(request.user, row, form) if isinstance(request.user, User) else [],
        "players": names(row.slug),
        "own_agents": own_agents,
        "others": environment_groups(),
        "is_waiting": any(entry.is_moving for entry in own_agents),
    }


def _table(row: Environment, tournament: Tournament | None) -> dict[str, Any]:
    if tournament is None:
        return {"tournament": None, "is_running": False}
    return {
        "tournament": tournament,
        "is_running": tournament.state == TournamentState.RUNNING,
        "participants": participant_list(tournament),
        "progress": tournament_progress(tournament),
        "window": edition_window(row, tournament.edition),
    }
