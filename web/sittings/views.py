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
from core.duels.replays import ReplayForm, sitting_names
from core.duels.selectors import match_get
from core.errors import Refused
from core.models import Agent, Environment, Sitting
from core.sittings.permissions import environment_obstacle
from core.sittings.selectors import opponents_of, sitting_get, sittings_open
from core.sittings.services import opponents_set, sitting_begin, sitting_move, sitting_resign
from core.submissions.selectors import agent_get, agent_source_visible
from web.duels.match_page import frames, viewer
from web.duels.match_parts import MatchAddresses
from web.site.limits import answer_refused
from web.site.refusals import explained, said
from web.site.replays import form_of, match_response
from web.site.requests import account_of, viewer_of, whole_number
from web.sittings.parts import board_of, is_seated, seat_remember
from web.watching.parts import events_address

SHOWN = 6
"""How many agents of a game the page lists."""
SEATS = {"first": 0, "second": 1}
CHANGING = ("state", "not_before", "error_code", "lease_expires_at", "persons_turn_at", "resigned_at")
"""The fields of an open sitting that may differ after a move."""


def play(request: HttpRequest) -> HttpResponse:
    """Show the agents that the reader may play against, game by game; `?environment=` names one game."""
    user = account_of(request)
    wanted = request.GET.get("environment", "")
    games = [
        (row, opponents_of(user, row, count=100 if row.slug == wanted else SHOWN))
        for row in Environment.objects.filter(seats=2).order_by("name")
        if not environment_obstacle(row) and wanted in ("", row.slug)
    ]
    own = [] if user is None else sittings_open(user)
    context = {"games": games, "wanted": wanted, "own": own, "shown": SHOWN}
    return render(request, "web/sittings/play.html", context)


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
        )
    except Refused as refusal:
        context = {"title": "This match cannot begin", "sentence": str(refusal), "agent": agent}
        return answer_refused(
            refusal, lambda status: render(request, "web/sittings/refused.html", context, status=status)
        )
    seat_remember(request, made)
    return redirect("web:sitting", made.public_id)


@explained
def sitting(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Show the board of an open sitting, or the match of one that is over; for htmx only the board."""
    row = _get(public_id)
    is_part = request.headers.get("HX-Target") == "board"
    if not row.is_over:
        return _board(request, row, is_part=is_part)
    if is_part:
        return HttpResponse(headers={"HX-Refresh": "true"})
    if not row.records:
        return render(request, "web/sittings/ended.html", {"sitting": row})
    return _finished(request, row)


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
def resign(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Give up the match of the person who plays it."""
    row = _own(request, public_id)
    try:
        sitting_resign(sitting=row)
    except Refused as refusal:
        messages.error(request, str(refusal))
    return redirect("web:sitting", public_id)


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


@explained
def sitting_frames(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Return all states of a finished sitting as JSON."""
    row = _get(public_id)
    return frames(request, row, 1, sitting_names(row, is_own=is_seated(request, row)))


@explained
def sitting_replay(request: HttpRequest, public_id: UUID, form: str) -> HttpResponseBase:
    """Send a finished sitting as a file."""
    wanted: ReplayForm = form_of(form)
    return match_response(request, _get(public_id), 1, wanted)


def _board(request: HttpRequest, row: Sitting, *, is_part: bool, refusal: str = "") -> HttpResponse:
    if row.is_over:
        return HttpResponse(headers={"HX-Refresh": "true"})
    page = reverse("web:sitting", args=[row.public_id])
    context = {"sitting": row, "board": board_of(request, row), "page": page, "refusal": refusal}
    context |= {"steps": max(1, _number(request, "steps")), "events": events_address(f"sittings/{row.public_id}")}
    response = render(request, "web/sittings/board.html" if is_part else "web/sittings/sitting.html", context)
    # The page depends on who looks and when, so no cache keeps it.
    response["Cache-Control"] = "private, no-store"
    return response


def _finished(request: HttpRequest, row: Sitting) -> HttpResponse:
    record, _ = match_get(row, 1)
    agent, is_own = row.submission.agent, is_seated(request, row)
    context = {
        "crumbs": [
            (reverse("web:environment", args=[agent.environment.slug]), agent.environment.name),
            (reverse("web:agent", args=[agent.environment.slug, agent.name]), agent.name),
        ],
        "can_see_trace": agent_source_visible(agent, viewer_of(request)),
        "sitting": row,
        "is_own": is_own,
    }
    addresses = MatchAddresses(
        reverse("web:sitting_frames", args=[row.public_id]),
        {form.value: reverse("web:sitting_replay", args=[row.public_id, form.value]) for form in ReplayForm},
    )
    return viewer(request, row, record, 1, sitting_names(row, is_own=is_own), addresses, context)


def _get(public_id: UUID) -> Sitting:
    try:
        return sitting_get(public_id)
    except Sitting.DoesNotExist:
        raise Http404("There is no such match.") from None


def _own(request: HttpRequest, public_id: UUID) -> Sitting:
    row = _get(public_id)
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
