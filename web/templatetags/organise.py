"""Tags for organisers: the buttons of a row, and the tabs of their pages."""

from __future__ import annotations

from typing import Any

from django import template
from django.db.models import Model
from django.template import Context
from django.urls import reverse

from core.models import User
from core.people.rights import SUPERUSER, may
from web.organise.actions.registry import kind_of

register = template.Library()

TABS = (
    ("organise", "Overview", ""),
    ("organise_tournaments", "Tournaments", "core.view_tournament"),
    ("organise_people", "People", "core.view_user"),
    ("organise_agents", "Agents", "core.view_agent"),
    ("organise_environments", "Environments", "core.view_environment"),
    ("organise_workers", "Workers", "core.view_worker"),
    ("operations", "Last 24 hours", "core.view_worker"),
    ("organise_webhooks", "Webhooks", "core.view_webhook"),
    ("organise_audit", "Audit log", SUPERUSER),
)
"""Name of the address, title and right of each page."""


@register.inclusion_tag("web/organise/tabs.html", takes_context=True)
def organise_tabs(context: Context, current: str) -> dict[str, Any]:
    """Show the pages that the viewer may see."""
    user = context["user"]
    return {"tabs": [tab for tab in TABS if may(user, tab[2])], "current": current, "user": user}


@register.inclusion_tag("web/organise/buttons.html", takes_context=True)
def organiser_buttons(context: Context, row: Model, heading: str = "") -> dict[str, Any]:
    """Show an organiser the actions on a row; other people see nothing. heading: of a panel around them."""
    user = context.get("user")
    kind = kind_of(row)
    actions = []
    if isinstance(user, User) and may(user):
        actions = [one for one in kind.actions if one.fits(row) and user.has_perm(one.permission(row))]
    return {
        "actions": actions,
        "kind": kind.name,
        "row": row,
        "heading": heading,
        "csrf_token": context.get("csrf_token"),
        "next": context["request"].path if "request" in context else "",
    }


@register.filter
def lasting(seconds: float) -> str:
    """Write how long something takes, roughly: 40 seconds, 12 minutes, 3 hours, 2 days."""
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 1.5 * size:
            return f"{round(seconds / size)} {word}{'s' * (round(seconds / size) != 1)}"
    return f"{max(1, round(seconds))} second{'s' * (round(seconds) > 1)}"


@register.simple_tag
def job_url(kind: str, job_id: int) -> str:
    """Return the page of a job: its own on the site, else that in the admin."""
    page = {"duel": "web:duel", "evaluation": "web:evaluation"}.get(kind, f"admin:core_{kind}_change")
    return reverse(page, args=[job_id])
