"""Asking for the analysis of a match, and the part of its page that shows it."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from core.duels.analyses import analysis_request, is_analysable
from core.duels.losses import typical_loss
from core.duels.replays import duel_names
from core.duels.selectors import match_get, spec_get
from core.errors import Refused
from core.models import Duel, User
from web.analyses.parts import analysis_part, analysis_view
from web.site.played import get_duel
from web.site.refusals import explained


@require_POST
@login_required
@explained
def analyse(request: HttpRequest, duel_id: int, number: int) -> HttpResponseBase:
    """Ask for the analysis of a match that the viewer may see."""
    row = get_duel(request, duel_id)
    assert isinstance(request.user, User)
    try:
        analysis_request(user=request.user, played=row, number=number)
    except Refused as refused:
        messages.error(request, str(refused))
    return redirect(f"{reverse('web:match', args=[duel_id, number])}#analysis")


@require_POST
@login_required
@explained
def why(request: HttpRequest, duel_id: int, player: int) -> HttpResponseBase:
    """Lead to a typical match that player 1 or 2 has lost: to the mistake, if it is analysed; if not, ask for that."""
    row = get_duel(request, duel_id)
    assert isinstance(request.user, User)
    if player not in (1, 2):
        raise Http404("A duel has player 1 and player 2.")
    number = typical_loss(row, player - 1)
    if number is None:
        messages.info(request, "It has lost no match of this duel.")
        return redirect("web:duel", duel_id)
    if is_analysable(spec_get(row)):
        try:
            analysis_request(user=request.user, played=row, number=number)
        except Refused as refused:
            messages.error(request, str(refused))
    return redirect(f"{reverse('web:match', args=[duel_id, number])}{_mistake(row, number)}#analysis")


def _mistake(row: Duel, number: int) -> str:
    """Return the query of the position before the worst move of who lost; empty without an analysis or a mistake."""
    record, _ = match_get(row, number)
    view = analysis_view(row, record, duel_names(row))
    losses = view.losses if view is not None else None
    return f"?ply={max(0, losses.remarks[0].ply - 1)}" if losses else ""


@require_safe
@explained
def analysis(request: HttpRequest, duel_id: int, number: int) -> HttpResponseBase:
    """Return the part of the page while the analysis is in progress; the whole page is loaded anew when it is ready."""
    row = get_duel(request, duel_id)
    return analysis_part(request, row, number, duel_names(row), reverse("web:match", args=[duel_id, number]))
