"""The page of a position of a recorded match, from which people and agents go on. Its address is the line's."""

from __future__ import annotations

from base64 import b64encode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from arena_kit.environment.protocol import ArenaEnvironmentError
from core.addresses import client_address
from core.duels.branches import MATCHES, branch_create, continuations_of
from core.duels.positions import Position, position_check, position_of
from core.duels.replays import duel_names
from core.duels.selectors import spec_get
from core.errors import Refused
from core.models import Agent, User
from core.sittings.permissions import environment_obstacle
from core.sittings.selectors import opponents_of
from core.sittings.services import sitting_begin
from web.duels.parts import origin_crumbs
from web.site.played import get_duel
from web.site.refusals import explained
from web.site.requests import account_of, whole_number
from web.sittings.parts import seat_remember, sittings_known

MOST_LISTED = 100
SEATS = {"first": 0, "second": 1}


@explained
def go_on(request: HttpRequest, duel_id: int, number: int, ply: int) -> HttpResponseBase:
    """Show a position, and how to go on from it."""
    duel = get_duel(request, duel_id)
    position = position_of(duel, number, ply)
    if position.ply != ply:
        return redirect("web:go_on", duel_id, number, position.ply)
    environment, user = duel.environment, account_of(request)
    opponents = opponents_of(user, environment, count=MOST_LISTED)
    context = {
        "duel": duel,
        "names": duel_names(duel),
        "position": position,
        "match_number": number,
        "environment": environment,
        "crumbs": _crumbs(position),
        "picture": _picture(position),
        "obstacle": _obstacle(position),
        "versions": opponents,
        "agents": opponents if user else [],
        "mover": position.to_move[0] if len(position.to_move) == 1 else None,
        "lines": continuations_of(position, limit=10),
        "match_counts": MATCHES,
    }
    return render(request, "web/sittings/go_on.html", context)


@require_POST
@explained
def sit_down(request: HttpRequest, duel_id: int, number: int, ply: int) -> HttpResponseBase:
    """Let the reader go on from a position against an agent."""
    position = position_of(get_duel(request, duel_id), number, ply)
    try:
        made = sitting_begin(
            user=account_of(request),
            address=client_address(request.META),
            agent=_agent(position, request.POST.get("agent", "")),
            seat=SEATS.get(request.POST.get("seat", "")),
            position=position,
            known=sittings_known(request),
        )
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect("web:go_on", duel_id, number, position.ply)
    seat_remember(request, made)
    return redirect("web:sitting", made.public_id)


@require_POST
@login_required
@explained
def let_play(request: HttpRequest, duel_id: int, number: int, ply: int) -> HttpResponseBase:
    """Let two agents go on from a position."""
    assert isinstance(request.user, User)
    position = position_of(get_duel(request, duel_id), number, ply)
    try:
        first, second = (_agent(position, request.POST.get(name, "")) for name in ("agent_1", "agent_2"))
        wanted = whole_number(request.POST.get("match_count", str(MATCHES[0]))) or 0
        made = branch_create(user=request.user, position=position, agents=(first, second), match_count=wanted)
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect("web:go_on", duel_id, number, position.ply)
    return redirect("web:duel", made.duels.get().pk)


def _crumbs(position: Position) -> list[tuple[str, str]]:
    duel = position.duel
    return [
        (reverse("web:environment", args=[duel.environment.slug]), duel.environment.name),
        *origin_crumbs(duel),
        (f"{reverse('web:match', args=[duel.pk, position.match])}?ply={position.ply}", f"match {position.match}"),
    ]


def _picture(position: Position) -> str:
    try:
        svg = spec_get(position.duel).render(position.frame)
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        return ""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}" if svg else ""


def _obstacle(position: Position) -> str:
    environment = position.duel.environment
    try:
        position_check(position, environment)
    except Refused as refusal:
        return str(refusal)
    return environment_obstacle(environment)


def _agent(position: Position, name: str) -> Agent:
    """Return the agent of this name in the environment of a match. Raises Refused."""
    # PostgreSQL refuses strings with a null character.
    rows = Agent.objects.filter(environment=position.duel.environment).select_related("environment", "owner")
    found = rows.filter(name__iexact=name).first() if name and "\x00" not in name else None
    if found is None:
        raise Refused("Choose an agent of this environment.")
    return found
