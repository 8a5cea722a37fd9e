"""An environment and its editions."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from core.models import Environment, Tournament, TournamentState, User
from core.selectors.agents import agent_list
from core.selectors.tournaments import edition_window, participant_list, tournament_latest, tournament_progress
from core.services.agents import submission_pending
from example_players.package import make_archive, names
from web.forms import AgentForm


def environment(request: HttpRequest, slug: str) -> HttpResponse:
    """Description, upload, own agents, and the newest edition."""
    row = get_object_or_404(Environment, slug=slug)
    return page(request, row, tournament_latest(row), AgentForm())


def edition(request: HttpRequest, slug: str, edition: int) -> HttpResponse:
    """The same page on one edition."""
    row = get_object_or_404(Environment, slug=slug)
    return page(request, row, get_object_or_404(Tournament, environment=row, edition=edition), AgentForm())


def page(
    request: HttpRequest, row: Environment, tournament: Tournament | None, form: AgentForm, status: int = 200
) -> HttpResponse:
    """The environment's page, or the part of it that htmx asks for."""
    context: dict[str, Any] = {"environment": row, "tournament": tournament, "form": form, "players": names()}
    user = request.user if isinstance(request.user, User) else None
    context["agents"] = agents = list(agent_list(row, user)) if user else []
    context["is_waiting"] = any(submission_pending(sub) for agent in agents for sub in agent.submissions.all()[:1])
    if tournament is not None:
        context["participants"] = participant_list(tournament)
        context["progress"] = tournament_progress(tournament)
        context["is_running"] = tournament.state == TournamentState.RUNNING
        context["window"] = edition_window(row, tournament.edition)
    part = request.headers.get("HX-Target", "")
    if part == "leaderboard":
        return render(request, "web/environment/leaderboard.html", context)
    if part == "own-agents":
        return render(request, "web/environment/own_agents.html", context)
    return render(request, "web/environment/environment.html", context, status=status)


def starter_kit(request: HttpRequest, name: str) -> HttpResponse:
    """An example player as a zip."""
    try:
        archive = make_archive(name)
    except LookupError as error:
        raise Http404(str(error)) from None
    response = HttpResponse(archive, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    return response
