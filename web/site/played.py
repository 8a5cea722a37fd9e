"""Duels and validations that an address names, for those who may see them."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from rest_framework.request import Request

from core.duels.selectors import duel_get, validation_get
from core.models import Agent, Duel, Validation
from core.submissions.selectors import agent_source_visible
from core.submissions.tries import version_visible
from core.tournaments.results import duel_check
from web.site.requests import viewer_of


def source_visible(request: HttpRequest | Request, agent: Agent) -> bool:
    return agent_source_visible(agent, viewer_of(request))


def get_duel(request: HttpRequest | Request, duel_id: int) -> Duel:
    """Return a duel whose results the viewer may see. Raises Http404 and Withheld."""
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
    if not source_visible(request, row.submission.agent) or not version_visible(row.submission, viewer_of(request)):
        raise Http404("There is no such validation.")
    return row
