"""Reads LOGIN_PROVIDERS: the providers that people can log in with, as django-allauth expects them."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

ID = re.compile(r"[a-z0-9][a-z0-9-]{0,49}")
GITHUB = "github"
NEEDED = ("id", "client_id", "secret")
OF_OPENID = ("name", "server_url")
EXPECTED = "LOGIN_PROVIDERS must be a JSON list of objects"


def login_providers(text: str) -> dict[str, Any]:
    """Return the settings of GitHub (the id "github") and of OpenID Connect providers (every other id).

    text: a JSON list of objects with the texts id, client_id and secret, and for OpenID Connect also name and
    server_url; empty for no providers. Raises ImproperlyConfigured.
    """
    found: dict[str, list[dict[str, Any]]] = {GITHUB: [], "openid_connect": []}
    seen: set[str] = set()
    for entry in _entries(text):
        key = entry["id"]
        if not ID.fullmatch(key) or key in seen:
            raise ImproperlyConfigured(
                f"LOGIN_PROVIDERS: the id {key!r} must be lower-case letters, digits and hyphens, and used once."
            )
        seen.add(key)
        app: dict[str, Any] = {"client_id": entry["client_id"], "secret": entry["secret"]}
        if key == GITHUB:
            found[GITHUB].append(app)
        else:
            _address_check(entry["server_url"])
            settings = {"server_url": entry["server_url"], "oauth_pkce_enabled": True}
            app |= {"provider_id": key, "name": entry["name"], "settings": settings}
            found["openid_connect"].append(app)
    return {
        GITHUB: {"APPS": found[GITHUB], "OAUTH_PKCE_ENABLED": True},
        "openid_connect": {"APPS": found["openid_connect"]},
    }


def _entries(text: str) -> list[dict[str, str]]:
    if not text.strip():
        return []
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise ImproperlyConfigured(f"{EXPECTED}: {error}") from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ImproperlyConfigured(f"{EXPECTED}.")
    for number, entry in enumerate(entries, 1):
        needed = NEEDED if entry.get("id") == GITHUB else (*NEEDED, *OF_OPENID)
        wrong = [name for name in needed if not isinstance(entry.get(name), str) or not entry[name]]
        unknown = sorted(set(entry) - set(needed))
        if wrong or unknown:
            what = f"needs the text {wrong[0]!r}" if wrong else f"has no {unknown[0]!r}"
            raise ImproperlyConfigured(f"LOGIN_PROVIDERS: entry {number} {what}.")
    return entries


def _address_check(address: str) -> None:
    """Raise ImproperlyConfigured for an address whose answers others could change on their way."""
    place = urlsplit(address)
    if place.scheme != "https" and (place.scheme != "http" or place.hostname not in ("localhost", "127.0.0.1")):
        raise ImproperlyConfigured(f"LOGIN_PROVIDERS: the server_url {address!r} must begin with https://.")
