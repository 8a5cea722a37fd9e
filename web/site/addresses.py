"""The network address by which limits count a request."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.request import Request

from core.addresses import client_address, network_of


def client_network(request: HttpRequest | Request) -> str | None:
    """Return the visitor's IPv4 address or IPv6 network; None if it is unknown."""
    address = client_address(request.META)
    return network_of(address) if address else None
