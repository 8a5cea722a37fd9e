"""A tag with buttons to withdraw from a tournament."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

from core.models import Tournament, User
from core.tournaments.selectors import leavable_list

register = template.Library()


@register.inclusion_tag("web/tournaments/withdraw.html", takes_context=True)
def withdraw(context: Context, tournament: Tournament | None) -> dict[str, Any]:
    """List the viewer's agents that may withdraw from a tournament, each with a button."""
    user = context.get("user")
    participants = leavable_list(tournament, user) if tournament is not None and isinstance(user, User) else []
    return {"csrf_token": context.get("csrf_token"), "tournament": tournament, "participants": participants}
