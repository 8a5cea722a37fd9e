"""Tags for organisers: the buttons of a row, the cells of lists, and the tabs of their pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import template
from django.db.models import Model
from django.template import Context
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import conditional_escape, format_html
from django.utils.text import Truncator

from core.courses.sight import course_of
from core.models import Job, User
from core.people.rights import SUPERUSER, acts_on, may
from web.organise.actions.registry import kind_of
from web.organise.sheet import Column, Sheet
from web.organise.sheets import SHEETS
from web.templatetags.arena import badge, moment, state_tone, took
from web.templatetags.rollouts import money

register = template.Library()


def rights(tab: str) -> str:
    """Return the rights of the lists of a tab; one of them opens it."""
    return " ".join(sheet.right for sheet in SHEETS if sheet.tab == tab)


TABS = (
    ("organise", "Overview", ""),
    ("organise_tournaments", "Tournaments", "core.view_tournament"),
    ("organise_people", "People", "core.view_user"),
    ("organise_agents", "Agents", "core.view_agent"),
    ("organise_environments", "Environments", "core.view_environment"),
    ("organise_applications", "Applications", rights("organise_applications")),
    ("organise_jobs", "Jobs", rights("organise_jobs")),
    ("organise_workers", "Workers", "core.view_worker"),
    ("operations", "24 hours", "core.view_worker"),
    ("organise_webhooks", "Webhooks", "core.view_webhook"),
    ("organise_audit", "Audit", SUPERUSER),
)
"""Name of the address, title and rights of each page; one right is enough."""


@register.inclusion_tag("web/organise/tabs.html", takes_context=True)
def organise_tabs(context: Context, current: str) -> dict[str, Any]:
    """Show the pages that the viewer may see."""
    user = context["user"]
    return {
        "tabs": [tab for tab in TABS if any(may(user, right) for right in tab[2].split() or [""])],
        "current": current,
        "user": user,
    }


@register.inclusion_tag("web/organise/buttons.html", takes_context=True)
def organiser_buttons(context: Context, row: Model, heading: str = "") -> dict[str, Any]:
    """Show an organiser the actions on a row; other people see nothing. heading: of a panel around them."""
    user = context.get("user")
    kind = kind_of(row)
    actions = []
    if isinstance(user, User):
        course = course_of(row)
        may_act = acts_on(user, course)
        actions = [one for one in kind.actions if may_act and may(user, one.permission(row), course) and one.fits(row)]
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
    """Return the organisers' page of a job."""
    return reverse("web:organise_job", args=[kind, job_id])


@register.simple_tag
def organise_url(name: str, *arguments: object) -> str:
    """Return the address of a page of organisers by its name."""
    return reverse(f"web:{name}", args=arguments)


@register.simple_tag
def cell(column: Column, value: Any, row: Any, sheet: Sheet) -> str:
    """Write a value of a list, in the first column with a link to the page of its row."""
    words = CELLS.get(column.kind, str)(value) if value not in (None, "") else "–"
    if column is sheet.columns[0] and sheet.page is not None:
        return format_html('<a href="{}">{}</a>', sheet.page(row), words)
    return conditional_escape(words)


def _job(job: Job) -> str:
    label = badge(job.get_state_display(), state_tone(job.state))
    return format_html('<a href="{}">{}</a>', job_url(job.KIND, job.pk), label)


CELLS: dict[str, Callable[[Any], str]] = {
    "moment": moment,
    "bytes": filesizeformat,
    "yes": lambda value: "yes" if value else "no",
    "code": lambda value: format_html("<code>{}</code>", value),
    "short": lambda value: Truncator(value).chars(160),
    "job": _job,
    "took": lambda job: took(job) or "–",
    "money": money,
    "prices": lambda prices: " / ".join(money(price) for price in prices),
}
"""How values are written, by the kind of their column."""
