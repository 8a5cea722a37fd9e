"""The pages and files of sittings that are over, for the person and for those whom they send the address."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse

from core.duels.replays import ReplayForm, sitting_names
from core.duels.selectors import match_get
from core.models import Sitting
from core.submissions.selectors import agent_source_visible
from web.cards.drawing import card_png
from web.duels.match_page import frames, viewer
from web.duels.match_parts import MatchAddresses
from web.site.refusals import explained
from web.site.replays import form_of, match_response
from web.site.requests import viewer_of
from web.sittings.parts import get_sitting, is_seated, result_shared

CARD_SECONDS = 3600


def finished(request: HttpRequest, row: Sitting) -> HttpResponse:
    """Show the match of a sitting that is over."""
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
        **result_shared(row, record),
    }
    addresses = MatchAddresses(
        reverse("web:sitting_frames", args=[row.public_id]),
        {form.value: reverse("web:sitting_replay", args=[row.public_id, form.value]) for form in ReplayForm},
    )
    return viewer(request, row, record, 1, sitting_names(row, is_own=is_own), addresses, context)


@explained
def sitting_frames(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Return all states of a finished sitting as JSON."""
    row = get_sitting(public_id)
    return frames(request, row, 1, sitting_names(row, is_own=is_seated(request, row)))


@explained
def sitting_card(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Send the picture of a finished sitting that other sites show for a link to it."""
    headers = {"Cache-Control": f"public, max-age={CARD_SECONDS}"}
    return HttpResponse(card_png(get_sitting(public_id), 1), content_type="image/png", headers=headers)


@explained
def sitting_replay(request: HttpRequest, public_id: UUID, form: str) -> HttpResponseBase:
    """Send a finished sitting as a file."""
    wanted: ReplayForm = form_of(form)
    return match_response(request, get_sitting(public_id), 1, wanted)
