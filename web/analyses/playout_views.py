"""Asking what the positions of a match are worth by playouts, and the part of its page that shows it."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from core.duels.playouts import MATCHES, MOST_POSITIONS, playouts_request
from core.duels.positions import position_check, position_of
from core.duels.replays import duel_names, match_views
from core.duels.selectors import match_get
from core.errors import Refused
from core.models import Agent, Duel, User
from core.sittings.permissions import environment_obstacle
from core.sittings.selectors import opponents_of
from core.submissions.selectors import agent_get
from web.analyses.playout_parts import playouts_view
from web.site.limits import answer_refused
from web.site.played import get_duel
from web.site.refusals import explained

MOST_LISTED = 100


@login_required
@explained
def ask(request: HttpRequest, duel_id: int, number: int) -> HttpResponseBase:
    """Show the form for playouts of a match, or let two agents begin with them."""
    row = get_duel(request, duel_id)
    if request.method != "POST":
        return _form(request, row, number)
    assert isinstance(request.user, User)
    try:
        obstacle = environment_obstacle(row.environment)
        if obstacle:
            raise Refused(obstacle)
        first, second = (_agent(row, request.POST.get(name, "")) for name in ("agent_1", "agent_2"))
        playouts_request(user=request.user, duel=row, number=number, agents=(first, second))
    except Refused as refusal:
        sentence = str(refusal)
        return answer_refused(refusal, lambda status: _form(request, row, number, sentence, status))
    messages.success(request, "The positions of this match are being played out.")
    return redirect(f"{reverse('web:match', args=[duel_id, number])}#playouts")


@require_safe
@explained
def part(request: HttpRequest, duel_id: int, number: int) -> HttpResponseBase:
    """Return the part of the page while duels are played; the whole page is loaded anew when they are over."""
    row = get_duel(request, duel_id)
    record, _ = match_get(row, number)
    last = len(match_views(row, record, duel_names(row))) - 1
    view = playouts_view(row, record, duel_names(row), last=last)
    if view is None or view.playouts.is_over:
        return HttpResponse(headers={"HX-Refresh": "true"})
    context = {"playouts": view, "duel": row, "match": record, "names": duel_names(row), "is_part": True}
    return render(request, "web/duels/viewer/playouts.html", context)


def _form(request: HttpRequest, row: Duel, number: int, refusal: str = "", status: int = 200) -> HttpResponse:
    assert isinstance(request.user, User)
    match_get(row, number)
    names = duel_names(row)
    context = {
        "duel": row,
        "names": names,
        "match_number": number,
        "environment": row.environment,
        "agents": opponents_of(request.user, row.environment, count=MOST_LISTED),
        "chosen": [request.POST.get(f"agent_{place}", "") for place in (1, 2)]
        if refusal
        else [row.player_1.agent.name, row.player_2.agent.name],
        "obstacle": _obstacle(row, number),
        "refusal": refusal,
        "most_positions": MOST_POSITIONS,
        "matches": MATCHES,
    }
    return render(request, "web/duels/playouts.html", context, status=status)


def _obstacle(row: Duel, number: int) -> str:
    try:
        position_check(position_of(row, number, 0), row.environment)
    except Refused as refusal:
        return str(refusal)
    return environment_obstacle(row.environment)


def _agent(row: Duel, name: str) -> Agent:
    """Return the agent of this name in the environment of a duel. Raises Refused."""
    try:
        # PostgreSQL refuses strings with a null character.
        return agent_get(row.environment.slug, name.replace("\x00", ""))
    except Agent.DoesNotExist:
        raise Refused("Choose two agents of this environment.") from None
