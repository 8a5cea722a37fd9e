"""Letting an agent rest: for its owner, and for organisers, whose changes go into the audit log."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from rest_framework.request import Request

from core.models import Agent, AuditEntry, User
from core.people.acting import acting
from core.people.rights import may
from core.tournaments.ladders import agent_rest

RIGHT = "core.change_agent"


def rest(
    request: HttpRequest | Request, account: User, agent: Agent, *, is_resting: bool, channel: AuditEntry.Channel
) -> None:
    """Let an agent rest or play again. Raises PermissionDenied, or Refused if nothing would change."""
    if agent.owner_id != account.pk and not may(account, RIGHT):
        raise PermissionDenied("Only the owner of an agent may let it rest.")
    action, sentence = ("let_rest", "is resting") if is_resting else ("let_play", "plays again")
    with acting(request, action=action, row=agent, sentence=sentence, channel=channel):
        agent_rest(agent=agent, is_resting=is_resting)
