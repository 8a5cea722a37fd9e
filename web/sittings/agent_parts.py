"""The panel on an agent's page from which people play against it."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser

from core.models import Agent, Opponents, Submission, User
from core.sittings.permissions import sitting_hindrance


def sitting_part(agent: Agent, playing: Submission | None, viewer: User | AnonymousUser) -> dict[str, Any]:
    """Return why a person cannot play against an agent, and whom its owner may let play; nothing for other games.

    playing: the result of `active_version`.
    """
    if agent.environment.is_app or agent.environment.seats != 2:
        return {}
    user = viewer if isinstance(viewer, User) else None
    return {
        "sitting_hindrance": sitting_hindrance(agent, playing, user),
        "opponents": Opponents.choices,
    }
