"""Where a request comes from, as limits count it. Only the proxies that the settings name are believed."""

from __future__ import annotations

import ipaddress

from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.settings import api_settings

from core.services.quotas import network_of


def client_network(request: HttpRequest | Request) -> str | None:
    """The visitor's address, of IPv6 its network; None when nobody can tell.

    Of X-Forwarded-For the entry counts that the outermost of TRUSTED_PROXIES proxies has written: what stands before
    it the visitor may have made up.
    """
    peer: str = request.META.get("REMOTE_ADDR") or ""
    forwarded = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    proxies: int = api_settings.NUM_PROXIES or 0
    named = forwarded[-min(proxies, len(forwarded))] if proxies and forwarded else peer
    for address in (named, peer):
        try:
            ipaddress.ip_address(address)
        except ValueError:
            continue
        return network_of(address)
    return None
