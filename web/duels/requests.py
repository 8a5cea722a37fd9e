"""Duels and validations that an address names, for those who may see them."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.urls import reverse
from rest_framework.request import Request

from core.duels.selectors import duel_get, validation_get
from core.models import Agent, Duel, Validation
from core.submissions.selectors import agent_source_visible
from core.tournaments.results import duel_check
from web.site.requests import viewer_of


def origin_crumbs(row: Duel) -> list[tuple[str, str]]:
    """Return the breadcrumbs to what the duel belongs to: a tournament, the agent of a promotion, or a challenge."""
    if row.tournament is not None:
        place = [row.environment.slug, row.tournament.edition]
        return [(reverse("web:edition", args=place), row.tournament.in_words)]
    if row.promotion is not None:
        agent = row.player_1.agent
        page = reverse("web:agent", args=[row.environment.slug, agent.name])
        return [(f"{page}?version={row.player_1.number}#v{row.player_1.number}", agent.name)]
    if row.challenge_id is not None:
        return [(reverse("web:challenge", args=[row.challenge_id]), "challenge")]
    return []


def source_visible(request: HttpRequest | Request, agent: Agent) -> bool:
    return agent_source_visible(agent, viewer_of(request))


def get_duel(request: HttpRequest | Request, duel_id: int) -> Duel:
    """Return a duel whose results the viewer may see. Raises Http404 and HeldBack."""
    try:
        row = duel_get(duel_id)
    except Duel.DoesNotExist:
        raise Http404("There is no such duel.") from None
    duel_check(row, viewer_of(request))
    return row


def get_validation(request: HttpRequest | Request, validation_id: int) -> Validation:
    """Return a validation that the viewer may see. Raises Http404, also if it exists but is private."""
    try:
        row = validation_get(validation_id)
    except Validation.DoesNotExist:
        raise Http404("There is no such validation.") from None
    if not source_visible(request, row.submission.agent):
        raise Http404("There is no such validation.")
    return row
