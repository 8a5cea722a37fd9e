"""The head that all pages of an environment share: its name, who leads, and the tabs."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

from core.models import Environment, Tournament
from core.people.rights import may
from core.sittings.permissions import environment_obstacle
from core.tournaments.cards import Figures, environment_figures
from core.tournaments.selectors import tournament_latest
from web.site.kept import for_all_readers

register = template.Library()


@register.inclusion_tag("web/environments/head.html", takes_context=True)
def environment_head(context: Context, environment: Environment, section: str) -> dict[str, Any]:
    """Draw the head of a page of an environment. section: the tab that is open."""
    # Tasks and rollouts of an application are not in the version of its environment.
    slug = None if environment.is_app else environment.slug
    key = f"figures:{environment.pk}"
    return {
        "environment": environment,
        "section": section,
        "figures": for_all_readers(key, slug, [], Figures, lambda: environment_figures(environment)),
        "newest": _newest(context, environment),
        "plays_people": not environment.is_scored and not environment_obstacle(environment),
        "user": context["user"],
        "sees_why": environment.is_app or may(context["user"], "core.view_environment"),
    }


def _newest(context: Context, environment: Environment) -> Tournament | None:
    """Return the edition of the tab; the environment's own page has read it already."""
    if environment.is_scored:
        return None
    return context["newest"] if "newest" in context else tournament_latest(environment)
