"""The address that a request comes from. Only the proxies named in the settings are trusted."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from django.conf import settings

IPV6_PREFIX = 64
"""The prefix length that counts as one visitor in IPv6: a visitor usually has a whole network."""


def client_address(meta: Mapping[str, Any]) -> str:
    """Return the visitor's address from the META of a request; empty when it is unknown.

    Of X-Forwarded-For, the entry written by the outermost of the TRUSTED_PROXIES proxies counts: the visitor may have
    invented the entries before it.
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


def is_loopback(address: str) -> bool:
    """Return whether an address is of this machine itself."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def network_of(address: str) -> str:
    """Return an address as limits count it: the network of an IPv6 address. Other text stays as it is."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed.packed, IPV6_PREFIX), strict=False).network_address)
    return str(parsed)
