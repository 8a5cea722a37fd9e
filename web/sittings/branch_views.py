"""The page of a position of a recorded match, from which people and agents go on. Its address is the line's."""

from __future__ import annotations

from base64 import b64encode
from uuid import UUID

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
from core.duels.replays import duel_names, sitting_names
from core.duels.selectors import spec_get
from core.errors import Refused
from core.models import Agent, Duel, User
from core.sittings.permissions import environment_obstacle
from core.sittings.selectors import opponents_of
from core.sittings.services import sitting_begin
from web.duels.parts import origin_crumbs
from web.site.played import get_duel
from web.site.refusals import explained
from web.site.requests import account_of, whole_number
from web.sittings.parts import get_sitting, seat_remember, sittings_known

MOST_LISTED = 100
SEATS = {"first": 0, "second": 1}


@explained
def go_on(request: HttpRequest, duel_id: int, number: int, ply: int) -> HttpResponseBase:
    """Show a position of a duel's match, and how to go on from it."""
    duel = get_duel(request, duel_id)
    own = {"duel": duel, "names": duel_names(duel), "match_number": number, "match_counts": MATCHES}
    return _position(request, position_of(duel, number, ply), ply, own)


@explained
def go_on_sitting(request: HttpRequest, public_id: UUID, ply: int) -> HttpResponseBase:
    """Show a position of a finished sitting, and how to go on from it."""
    row = get_sitting(public_id)
    own = {"sitting": row, "names": sitting_names(row), "chosen": row.submission.agent_id}
    return _position(request, position_of(row, 1, ply), ply, own)


@require_POST
@explained
def sit_down(request: HttpRequest, duel_id: int, number: int, ply: int) -> HttpResponseBase:
    """Let the reader go on from a position of a duel's match against an agent."""
    return _sit_down(request, position_of(get_duel(request, duel_id), number, ply))


@require_POST
@explained
def sit_down_again(request: HttpRequest, public_id: UUID, ply: int) -> HttpResponseBase:
    """Let the reader go on from a position of a finished sitting against an agent."""
    return _sit_down(request, position_of(get_sitting(public_id), 1, ply))


def _position(request: HttpRequest, position: Position, ply: int, own: dict[str, object]) -> HttpResponseBase:
    """Show a position. ply: that the address names. own: what the page shows of the duel or the sitting."""
    if position.ply != ply:
        return redirect(_address(position))
    environment, user = position.played.environment, account_of(request)
    opponents = opponents_of(user, environment, count=MOST_LISTED)
    context = own | {
        "position": position,
        "here": _match_address(position) + "from/",
        "environment": environment,
        "crumbs": _crumbs(position),
        "picture": _picture(position),
        "obstacle": _obstacle(position),
        "versions": opponents,
        "agents": opponents if user else [],
        "mover": position.to_move[0] if len(position.to_move) == 1 else None,
        "lines": continuations_of(position, limit=10),
    }
    return render(request, "web/sittings/go_on.html", context)


def _sit_down(request: HttpRequest, position: Position) -> HttpResponseBase:
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
        return redirect(_address(position))
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


def _match_address(position: Position) -> str:
    """Return the page of the match that a position is of."""
    played = position.played
    if isinstance(played, Duel):
        return reverse("web:match", args=[played.pk, position.match])
    return reverse("web:sitting", args=[played.public_id])


def _address(position: Position) -> str:
    return f"{_match_address(position)}from/{position.ply}/"


def _crumbs(position: Position) -> list[tuple[str, str]]:
    played = position.played
    before, name = (origin_crumbs(played), f"match {position.match}") if isinstance(played, Duel) else ([], str(played))
    return [
        (reverse("web:environment", args=[played.environment.slug]), played.environment.name),
        *before,
        (f"{_match_address(position)}?ply={position.ply}", name),
    ]


def _picture(position: Position) -> str:
    try:
        svg = spec_get(position.played).render(position.frame)
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        return ""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}" if svg else ""


def _obstacle(position: Position) -> str:
    environment = position.played.environment
    try:
        position_check(position, environment)
    except Refused as refusal:
        return str(refusal)
    return environment_obstacle(environment)


def _agent(position: Position, name: str) -> Agent:
    """Return the agent of this name in the environment of a match. Raises Refused."""
    # PostgreSQL refuses strings with a null character.
    rows = Agent.objects.filter(environment=position.played.environment).select_related("environment", "owner")
    found = rows.filter(name__iexact=name).first() if name and "\x00" not in name else None
    if found is None:
        raise Refused("Choose an agent of this environment.")
    return found
