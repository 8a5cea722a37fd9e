"""The pages and files of sittings that are over, for the person and for those whom they send the address."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from core.duels.analyses import analysis_request
from core.duels.replays import ReplayForm, sitting_names
from core.duels.selectors import match_get
from core.errors import Refused
from core.models import Sitting
from core.submissions.selectors import agent_source_visible
from web.analyses.parts import analysis_part
from web.cards.drawing import card_png
from web.duels.match_page import frames, viewer
from web.duels.match_parts import MatchAddresses
from web.site.embedding import loadable
from web.site.refusals import explained
from web.site.replays import form_of, match_response
from web.site.requests import account_of, viewer_of
from web.sittings.parts import get_sitting, is_seated, result_shared

CARD_SECONDS = 3600


def finished(request: HttpRequest, row: Sitting) -> HttpResponse:
    """Show the match of a sitting that is over."""
    record, _ = match_get(row, 1)
    agent, is_own = row.submission.agent, is_seated(request, row)
    page = reverse("web:sitting", args=[row.public_id])
    context = {
        "crumbs": [
            (reverse("web:environment", args=[agent.environment.slug]), agent.environment.name),
            (reverse("web:agent", args=[agent.environment.slug, agent.name]), agent.name),
        ],
        "can_see_trace": agent_source_visible(agent, viewer_of(request)),
        "sitting": row,
        "environment": agent.environment,
        "players": {2: row.submission},
        "go_on_url": f"{page}from/",
        "is_own": is_own,
        **result_shared(row, record),
    }
    addresses = MatchAddresses(
        page,
        reverse("web:sitting_frames", args=[row.public_id]),
        {form.value: reverse("web:sitting_replay", args=[row.public_id, form.value]) for form in ReplayForm},
    )
    return viewer(request, row, record, 1, sitting_names(row, is_own=is_own), addresses, context)


@explained
def sitting_frames(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Return all states of a finished sitting as JSON."""
    row = get_sitting(public_id)
    return frames(request, row, 1, sitting_names(row, is_own=is_seated(request, row)))


@require_safe
@explained
def sitting_analysis(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Return the part of the page while the analysis is in progress; the whole page is loaded anew when it is ready."""
    row = get_sitting(public_id)
    names = sitting_names(row, is_own=is_seated(request, row))
    return analysis_part(request, row, 1, names, reverse("web:sitting", args=[public_id]))


@require_POST
@explained
def sitting_analyse(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Ask for the analysis of a finished sitting: its person, or anyone with an account."""
    row = get_sitting(public_id)
    asker = account_of(request) or (row.user if is_seated(request, row) else None)
    page = reverse("web:sitting", args=[public_id])
    if asker is None:
        return redirect_to_login(page)
    try:
        analysis_request(user=asker, played=row)
    except Refused as refused:
        messages.error(request, str(refused))
    return redirect(f"{page}#analysis")


@explained
def sitting_card(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Send the picture of a finished sitting that other sites show for a link to it."""
    headers = {"Cache-Control": f"public, max-age={CARD_SECONDS}"}
    return loadable(HttpResponse(card_png(get_sitting(public_id), 1), content_type="image/png", headers=headers))


@explained
def sitting_replay(request: HttpRequest, public_id: UUID, form: str) -> HttpResponseBase:
    """Send a finished sitting as a file."""
    wanted: ReplayForm = form_of(form)
    return match_response(request, get_sitting(public_id), 1, wanted)
