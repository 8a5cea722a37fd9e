"""The page for the big screen of a hall: large, without chrome, and left alone for hours."""

from __future__ import annotations

from hashlib import sha256

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.utils import timezone

from arena_kit.ranking.formats import FORMATS
from core.editions.screen import MOST_MEETINGS, Screen, screen_get
from core.models import Tournament, TournamentState
from core.tournaments.brackets import Drawn
from core.tournaments.calendar import next_step
from core.tournaments.selectors import tournament_progress
from web.tournaments.bracket_parts import GROUP_STAGE, round_names
from web.tournaments.round_parts import evaluated_words
from web.watching.parts import board_part


def screen(request: HttpRequest, slug: str, edition: int) -> HttpResponse:
    """Show the scene of a tournament that everyone may see; for htmx, only if it has changed."""
    rows = Tournament.objects.select_related("environment").filter(is_automatic=False)
    tournament = get_object_or_404(rows, environment__slug=slug, edition=edition)
    if tournament.format not in FORMATS:
        raise Http404("A ladder has no rounds, so it has no page for a big screen.")
    shown = screen_get(tournament, now=timezone.now())
    if request.headers.get("X-Scene", shown.name) != shown.name:
        # Films begin with a page of their own.
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    scene = render_to_string("web/tournaments/scene.html", _context(tournament, shown), request)
    stamp = sha256(scene.encode()).hexdigest()[:16]
    if request.headers.get("X-Seen") == stamp:
        return HttpResponse(status=204)
    is_part = request.headers.get("HX-Target") == "screen"
    template = "web/tournaments/screen_part.html" if is_part else "web/tournaments/screen.html"
    context = {"tournament": tournament, "shown": shown, "scene": scene, "stamp": stamp}
    response = render(request, template, context)
    response.headers["Vary"] = "HX-Target, X-Seen, X-Scene"
    response.headers["Cache-Control"] = "no-store"
    return response


def _context(tournament: Tournament, shown: Screen) -> dict[str, object]:
    step, step_at = next_step(tournament, now=timezone.now()) if shown.name == "planned" else ("", None)
    return {
        "tournament": tournament,
        "environment": tournament.environment,
        "shown": shown,
        "drawn": shown.drawn,
        "films": shown.films,
        "round_name": _round_name(shown, shown.round),
        "next_name": _round_name(shown, shown.round + 1),
        "board": board_part(shown.live) if shown.live is not None else "",
        "step": step,
        "step_at": step_at,
        **(_scores(tournament, shown.drawn) if tournament.plays_alone and shown.drawn is not None else {}),
    }


def _scores(tournament: Tournament, drawn: Drawn) -> dict[str, object]:
    """Return the best scores of agents that play alone, and how many have one."""
    scored = [line for line in drawn.lines(drawn.outline.table) if line.participant.is_ranked]
    words = evaluated_words(tournament_progress(tournament)) if tournament.state == TournamentState.RUNNING else ""
    return {"best": scored[:MOST_MEETINGS], "evaluated": words}


def _round_name(shown: Screen, number: int) -> str:
    """Return the name of a round: Final, Round 3; groups have several rounds."""
    name = round_names(shown.drawn).get(number, "") if shown.drawn else ""
    return name if name and name != GROUP_STAGE else f"Round {number}"
