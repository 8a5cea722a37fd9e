"""Addresses of the site as they stand in mails, notices and alarms, and in what other programs are told.

Core knows pages by what they show; the site registers where each of them is when Django starts.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.urls import reverse

_PAGES: dict[str, str] = {}


def site_url() -> str:
    """Where people reach the site, without a slash at its end: SITE_URL, else the first of ALLOWED_HOSTS."""
    if settings.SITE_URL:
        return str(settings.SITE_URL)
    host = next((host.lstrip(".") for host in settings.ALLOWED_HOSTS if host != "*"), "localhost")
    return f"{'https' if settings.HTTPS else 'http'}://{host}"


def absolute(address: str) -> str:
    """The full address of a path of the site."""
    return f"{site_url()}/{address.lstrip('/')}"


def pages_register(pages: Mapping[str, str]) -> None:
    """Name the address of each page, as `reverse` knows it, by what the page shows."""
    _PAGES.update(pages)


def page(name: str, *arguments: object) -> str:
    """The path of a page. Raises KeyError for one that no room has registered."""
    return reverse(_PAGES[name], args=arguments)
