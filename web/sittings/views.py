"""Pages on which people play against agents: choose one, sit down, move, resign, and watch the match afterwards."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from core.addresses import client_address
from core.courses.sight import listed
from core.duels.challenge_selectors import active_version
from core.errors import Refused
from core.models import Agent, Environment, Sitting
from core.sittings.permissions import environment_obstacle, sitting_obstacle
from core.sittings.selectors import agents_named, people_record, sittings_open
from core.sittings.services import (
    opponents_set,
    sitting_begin,
    sitting_hint,
    sitting_move,
    sitting_resign,
    sitting_take_back,
)
from core.sittings.strength import opponents_rated, opponents_with_levels, rating_spans
from core.submissions.naming import agent_once_named
from core.submissions.selectors import agent_get
from web.site.limits import answer_refused
from web.site.refusals import explained, said
from web.site.requests import account_of, viewer_of, whole_number
from web.sittings.finished_views import finished
from web.sittings.parts import (
    board_of,
    get_sitting,
    hint_sentence,
    is_seated,
    seat_remember,
    sittings_known,
)
from web.sittings.seen import seen_of
from web.watching.parts import events_address

SHOWN = 6
"""How many agents of a game the page lists."""
SEATS = {"first": 0, "second": 1}
CHANGING = ("state", "not_before", "error_code", "lease_expires_at", "persons_turn_at", "resigned_at", "is_helped")
"""The fields of an open sitting that may differ after a move."""


def play(request: HttpRequest) -> HttpResponse:
    """Show the agents that the reader may play against, game by game; `?environment=` names one game."""
    user = account_of(request)
    wanted = request.GET.get("environment", "")
    rows = [
        row
        for row in listed(Environment.objects.filter(seats=2), viewer_of(request)).order_by("name")
        if not environment_obstacle(row) and wanted in ("", row.slug)
    ]
    spans = rating_spans(rows)
    games = [
        (row, opponents_rated(user, row, spans.get(row.pk), count=100 if row.slug == wanted else SHOWN)) for row in rows
    ]
    own = sittings_open(user, sittings_known(request))
    context = {"games": games, "wanted": wanted, "own": own, "shown": SHOWN}
    return render(request, "web/sittings/play.html", context)


def invitation(request: HttpRequest, name: str) -> HttpResponse:
    """Invite people, with or without an account, to play an agent; one of each game that has an agent of this name."""
    user = account_of(request)
    found = [(agent, active_version(agent)) for agent in agents_named(name, viewer_of(request))]
    if not found:
        renamed = agent_once_named(None, name)
        if renamed is not None and agents_named(renamed.name, viewer_of(request)):
            return redirect("web:invitation", renamed.name)
        raise Http404("There is no agent of this name that people could play.")
    spans = rating_spans([agent.environment for agent, _ in found])
    invited = [
        {
            "agent": agent,
            "obstacle": sitting_obstacle(agent, version, user),
            "opponent": next(iter(opponents_with_levels([version] if version else [], spans)), None),
            "people": people_record(agent),
        }
        for agent, version in found
    ]
    return render(request, "web/sittings/invitation.html", {"name": found[0][0].name, "invited": invited})


def begin(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Sit down against an agent. A GET, which comes from a login, leads to the agent's page."""
    agent = _agent(slug, name)
    if request.method != "POST":
        return redirect("web:agent", slug, agent.name)
    try:
        made = sitting_begin(
            user=account_of(request),
            address=client_address(request.META),
            agent=agent,
            seat=SEATS.get(request.POST.get("seat", "")),
            known=sittings_known(request),
        )
    except Refused as refusal:
        own = sittings_open(account_of(request), sittings_known(request))
        context = {"title": "This match cannot begin", "sentence": str(refusal), "agent": agent, "own": own}
        return answer_refused(
            refusal, lambda status: render(request, "web/sittings/refused.html", context, status=status)
        )
    seat_remember(request, made)
    return redirect("web:sitting", made.public_id)


@explained
def sitting(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show the board of an open sitting, or the match of one that is over; for htmx only the board."""
    row = get_sitting(public_id)
    is_part = request.headers.get("HX-Target") == "board"
    if not row.is_over:
        return _board(request, row, is_part=is_part)
    if is_part:
        return HttpResponse(headers={"HX-Refresh": "true"})
    if not row.records:
        return render(request, "web/sittings/ended.html", {"sitting": row})
    return finished(request, row)


@require_POST
@explained
def move(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Play a move of the person whose match it is."""
    row = _own(request, public_id)
    step, action, steps = (_number(request, word) for word in ("step", "action", "steps"))
    refusal = ""
    try:
        sitting_move(sitting=row, step=step, action=action, steps=steps)
    except Refused as refused:
        refusal = str(refused)
    if request.headers.get("HX-Target") == "board":
        row.refresh_from_db(fields=CHANGING)
        return _board(request, row, is_part=True, refusal=refusal)
    if refusal:
        messages.error(request, refusal)
    return redirect("web:sitting", public_id)


@require_POST
@explained
def assist(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Take the last move of the person back, or show a hint of the solver."""
    row, refusal, hint = _own(request, public_id), "", ""
    try:
        if request.POST.get("what") == "hint":
            hint = hint_sentence(seen_of(row, is_seated=True), sitting_hint(sitting=row))
        else:
            sitting_take_back(sitting=row)
        row.refresh_from_db(fields=CHANGING)
    except Refused as refused:
        refusal = str(refused)
    is_part = request.headers.get("HX-Target") == "board"
    return _board(request, row, is_part=is_part, refusal=refusal, hint=hint)


@require_POST
def resign(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Give up the match of the person who plays it."""
    row = _own(request, public_id)
    try:
        sitting_resign(sitting=row)
    except Refused as refusal:
        messages.error(request, str(refusal))
    return redirect("web:play") if request.POST.get("then") == "play" else redirect("web:sitting", public_id)


@require_POST
@login_required
def opponents(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Decide which people may play against an agent, for its owner."""
    agent = _agent(slug, name)
    if agent.owner_id != request.user.pk:
        raise PermissionDenied("Only the owner of an agent decides who may play against it.")
    word = request.POST.get("opponents", "")
    said(request, "Your choice is saved.", lambda: opponents_set(agent=agent, opponents=word))
    return redirect("web:agent", slug, agent.name)


def _board(request: HttpRequest, row: Sitting, *, is_part: bool, refusal: str = "", hint: str = "") -> HttpResponse:
    if row.is_over:
        return HttpResponse(headers={"HX-Refresh": "true"})
    page = reverse("web:sitting", args=[row.public_id])
    context = {"sitting": row, "board": board_of(request, row), "page": page, "refusal": refusal, "hint": hint}
    context |= {"steps": max(1, _number(request, "steps")), "events": events_address(f"sittings/{row.public_id}")}
    response = render(request, "web/sittings/board.html" if is_part else "web/sittings/sitting.html", context)
    # The page depends on who looks and when, so no cache keeps it.
    response["Cache-Control"] = "private, no-store"
    return response


def _own(request: HttpRequest, public_id: UUID) -> Sitting:
    row = get_sitting(public_id)
    if not is_seated(request, row):
        raise PermissionDenied("Only the person who plays may move.")
    return row


def _agent(slug: str, name: str) -> Agent:
    try:
        return agent_get(slug, name)
    except Agent.DoesNotExist:
        raise Http404("There is no such agent in this environment.") from None


def _number(request: HttpRequest, word: str) -> int:
    number = whole_number(request.POST.get(word, request.GET.get(word, "")))
    return -1 if number is None else number
