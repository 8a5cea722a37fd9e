"""Where a request comes from. Only the proxies that the settings name are believed."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from django.conf import settings

IPV6_PREFIX = 64
"""What one visitor has of version 6 of the protocol: usually a whole network."""


def client_address(meta: Mapping[str, Any]) -> str:
    """The visitor's address, by the META of a request; empty when nobody can tell.

    Of X-Forwarded-For the entry counts that the outermost of TRUSTED_PROXIES proxies has written: what stands before
    it the visitor may have made up.
    """
    peer = str(meta.get("REMOTE_ADDR") or "")
    forwarded = [part.strip() for part in meta.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    proxies: int = settings.REST_FRAMEWORK["NUM_PROXIES"] or 0
    named = forwarded[-min(proxies, len(forwarded))] if proxies and forwarded else peer
    for address in (named, peer):
        try:
            ipaddress.ip_address(address)
        except ValueError:
            continue
        return address
    return ""


def network_of(address: str) -> str:
    """An address as limits count it: of IPv6 its network. What is no address stands for itself."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed.packed, IPV6_PREFIX), strict=False).network_address)
    return str(parsed)
