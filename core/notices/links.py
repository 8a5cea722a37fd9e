"""Addresses of the site as they stand in mails and in what other programs are told."""

from __future__ import annotations

from django.conf import settings


def site_url() -> str:
    """Where people reach the site, without a slash at its end: SITE_URL, else what other settings tell of it."""
    if settings.SITE_URL:
        return str(settings.SITE_URL)
    if settings.CSRF_TRUSTED_ORIGINS:
        return str(settings.CSRF_TRUSTED_ORIGINS[0])
    host = next((host.lstrip(".") for host in settings.ALLOWED_HOSTS if host != "*"), "localhost")
    return f"{'https' if settings.HTTPS else 'http'}://{host}"


def absolute(address: str) -> str:
    """The full address of a path of the site."""
    return f"{site_url()}/{address.lstrip('/')}"
