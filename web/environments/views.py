"""Pages of an environment and its editions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse

from arena_kit.environment.folder import environment_zip
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec, own_slugs
from arena_kit.examples import make_archive, names
from core.evaluations.episodes import spec_or_none
from core.models import Environment, Tournament, TournamentState, User
from core.sittings.permissions import environment_hindrance
from core.submissions.outlook import edition_expected
from core.submissions.selectors import own_agent_list
from core.tournaments.cards import environment_groups
from core.tournaments.ladder_selectors import ladder_outlook
from core.tournaments.results import held_back_because, results_visible
from core.tournaments.seasons import season_list
from core.tournaments.selectors import (
    edition_window,
    tournament_latest,
    tournament_progress,
)
from web.environments.kit_views import kits_of
from web.environments.parts import edition_table
from web.evaluations.board_views import scored_page
from web.people.quota_parts import upload_quotas
from web.ratings.as_of import AsOfForm
from web.ratings.past_views import past_page
from web.rollouts.views import application_page
from web.site.fragments import render_page
from web.site.refusals import explained
from web.submissions.forms import AgentForm, agent_form
from web.tournaments.bracket_views import tournament_page
from web.tournaments.ladder_views import TABLE, ladder_page, ladder_table

FRAGMENTS = {
    "leaderboard": "web/environments/leaderboard.html",
    "own-agents": "web/environments/own_agents.html",
}


def environment(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the description, the upload form, the viewer's agents and the newest edition."""
    row = get_object_or_404(Environment, slug=slug)
    return environment_page(request, row, agent_form(row)())


@explained
def edition(request: HttpRequest, slug: str, edition: int) -> HttpResponseBase:
    """Show the page of an environment with one edition."""
    row = get_object_or_404(Environment, slug=slug)
    tournament = (
        Tournament.objects.select_related("environment", "season").filter(environment=row, edition=edition).first()
    )
    if tournament is None:
        raise Http404(f"{row} has no edition {edition}.")
    if tournament.is_ladder and tournament.state != TournamentState.PLANNED:
        return ladder_page(request, tournament)
    if not tournament.is_automatic:
        return tournament_page(request, tournament)
    context = {
        **_common(request, row, AgentForm()),
        **_table(request, row, tournament, is_newest=tournament == tournament_latest(row)),
        **_address(request, request.path),
        "shown_edition": edition,
        "is_live": tournament.state == TournamentState.RUNNING,
    }
    return render_page(request, "web/environments/environment.html", context, FRAGMENTS)


def environment_page(request: HttpRequest, row: Environment, form: AgentForm, status: int = 200) -> HttpResponse:
    """Render the page with the board or the newest edition; it refreshes itself while results can still change."""
    if row.is_app:
        return application_page(request, _common(request, row, form), status)
    if row.is_scored:
        return scored_page(request, _common(request, row, form), status)
    if request.GET.get("as_of"):
        return past_page(request, _common(request, row, form), AsOfForm(request.GET), FRAGMENTS)
    context = {
        **_common(request, row, form),
        **_table(request, row, tournament_latest(row), is_newest=True),
        **_address(request, reverse("web:environment", args=[row.slug])),
    }
    context["ladder_outlook"] = ladder_outlook(row)
    context["is_live"] = context["is_running"] or context["is_waiting"] or edition_expected(row)
    is_ladder = context["tournament"] is not None and context["tournament"].is_ladder
    fragments = FRAGMENTS | {"leaderboard": TABLE} if is_ladder else FRAGMENTS
    return render_page(request, "web/environments/environment.html", context, fragments, status)


def starter_kit(request: HttpRequest, name: str) -> HttpResponse:
    """Send an example player as a zip, with what the arena has trained it on for `?environment=`, if anything."""
    environment = request.GET.get("environment", "")
    try:
        archive = make_archive(name, environment, store=settings.DATA_DIR / "examples")
    except LookupError as error:
        raise Http404(str(error)) from None
    response = HttpResponse(archive, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    return response


def rules(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the folder or file of an environment, which holds its rules, as a zip."""
    row = get_object_or_404(Environment, slug=slug)
    try:
        content = environment_zip(get_spec(row.spec_id))
    except (UnknownEnvironment, OSError):
        raise Http404(f"This arena no longer has the rules of {row}.") from None
    headers = {"Content-Disposition": f'attachment; filename="{row.spec_id}.zip"'}
    return HttpResponse(content, content_type="application/zip", headers=headers)


def _common(request: HttpRequest, row: Environment, form: AgentForm) -> dict[str, Any]:
    own_agents = own_agent_list(row, request.user) if isinstance(request.user, User) else []
    return {
        "environment": row,
        "form": form,
        "quotas": upload_quotas(request.user, row, form) if isinstance(request.user, User) else [],
        "players": names(row.slug),
        "kits": kits_of(row),
        "has_rules": spec_or_none(row.spec_id) is not None,
        # The folder of an organiser is not in arena-kit, nor is what a submission added.
        "is_outside": row.is_added or row.slug in own_slugs(),
        "own_agents": own_agents,
        "others": environment_groups(),
        "seasons": [] if row.is_scored else season_list(row),
        "plays_people": not environment_hindrance(row),
        "is_waiting": any(entry.is_moving for entry in own_agents),
    }


def _address(request: HttpRequest, base: str) -> dict[str, str]:
    """Return the page's address as `base`, and with the query string as `page`, from which live parts refresh."""
    return {"base": base, "page": f"{base}?{request.GET.urlencode()}" if request.GET else base}


def _table(request: HttpRequest, row: Environment, tournament: Tournament | None, *, is_newest: bool) -> dict[str, Any]:
    """Return the table of an edition or ladder, or why its results are held back."""
    if tournament is None:
        return {"tournament": None, "is_running": False}
    assert request.user.is_anonymous or isinstance(request.user, User)
    is_visible = results_visible(tournament, request.user)
    if is_visible and tournament.is_ladder:
        return ladder_table(request, tournament)
    if is_visible:
        shown = edition_table(request.GET, request.user, tournament, is_newest=is_newest)
    else:
        shown = {"held_back": held_back_because(tournament)}
    return {
        **shown,
        "tournament": tournament,
        "is_running": tournament.state == TournamentState.RUNNING,
        "progress": tournament_progress(tournament),
        "window": edition_window(row, tournament.edition),
    }
