"""Addresses of the site's pages for mails, notices, alarms and other programs.

Core names a page by what it shows; the site registers the page's address when Django starts.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.urls import reverse

from core.models import Agent, Tournament

_PAGES: dict[str, str] = {}


def site_url() -> str:
    """Return the site's public address without a trailing slash: SITE_URL, else the first of ALLOWED_HOSTS."""
    if settings.SITE_URL:
        return str(settings.SITE_URL)
    host = next((host.lstrip(".") for host in settings.ALLOWED_HOSTS if host != "*"), "localhost")
    return f"{'https' if settings.HTTPS else 'http'}://{host}"


def absolute(address: str) -> str:
    """Return the full address of a path of the site."""
    return f"{site_url()}/{address.lstrip('/')}"


def pages_register(pages: Mapping[str, str]) -> None:
    """Register pages by what they show, with the names that `reverse` knows."""
    _PAGES.update(pages)


def page(name: str, *arguments: object) -> str:
    """Return the path of a page. Raises KeyError for an unregistered page."""
    return reverse(_PAGES[name], args=arguments)


def agent_address(agent: Agent) -> str:
    """Return the path of an agent's page."""
    return page("agent", agent.environment.slug, agent.name)


def tournament_address(tournament: Tournament) -> str:
    """Return the path of a tournament's page."""
    return page("edition", tournament.environment.slug, tournament.edition)
