"""Where a request comes from, as limits count it."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.request import Request

from core.addresses import client_address, network_of


def client_network(request: HttpRequest | Request) -> str | None:
    """The visitor's address, of IPv6 its network; None when nobody can tell."""
    address = client_address(request.META)
    return network_of(address) if address else None
