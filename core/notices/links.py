"""Addresses of the site as they stand in mails and in what other programs are told."""

from __future__ import annotations

from django.conf import settings


def site_url() -> str:
    """Where people reach the site, without a slash at its end: SITE_URL, else the first of ALLOWED_HOSTS."""
    if settings.SITE_URL:
        return str(settings.SITE_URL)
    host = next((host.lstrip(".") for host in settings.ALLOWED_HOSTS if host != "*"), "localhost")
    return f"{'https' if settings.HTTPS else 'http'}://{host}"


def absolute(address: str) -> str:
    """The full address of a path of the site."""
    return f"{site_url()}/{address.lstrip('/')}"
