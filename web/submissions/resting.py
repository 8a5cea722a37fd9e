"""Letting an agent rest, for its owner and for organisers, and deleting one; the audit log has both."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from rest_framework.request import Request

from core.models import Agent, AuditEntry, User
from core.people.acting import acting
from core.people.rights import may
from core.submissions.existing import agent_delete
from core.tournaments.ladders import agent_rest

RIGHT = "core.change_agent"


def rest(
    request: HttpRequest | Request, account: User, agent: Agent, *, is_resting: bool, channel: AuditEntry.Channel
) -> None:
    """Let an agent rest or play again. Raises PermissionDenied, or Refused if nothing would change."""
    if agent.owner_id != account.pk and not may(account, RIGHT):
        raise PermissionDenied("Only the owner of an agent may hide it.")
    action, sentence = ("let_rest", "is hidden") if is_resting else ("let_play", "plays again")
    with acting(request, action=action, row=agent, sentence=sentence, channel=channel):
        agent_rest(agent=agent, is_resting=is_resting)


def remove(request: HttpRequest | Request, account: User, agent: Agent, *, channel: AuditEntry.Channel) -> None:
    """Delete an agent of one's own. Raises PermissionDenied, or Refused for one with results."""
    if agent.owner_id != account.pk:
        raise PermissionDenied("Only the owner of an agent may delete it.")
    with acting(request, action="delete_agent", row=agent, sentence="is deleted", channel=channel, even_own=True):
        agent_delete(agent=agent)
