"""The viewer, account and network of a request, and the page or position that its address names."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, QueryDict
from django.utils.functional import SimpleLazyObject
from rest_framework.request import Request

from core.addresses import client_address, network_of
from core.models import User


def viewer_of(request: HttpRequest | Request) -> User | AnonymousUser:
    """Return the user or visitor that a request comes from, with the type that selectors expect."""
    assert isinstance(request.user, User | AnonymousUser)
    return request.user


def comes_with_session(request: HttpRequest) -> bool:
    """Return whether a request may come from a person who has logged in on the site."""
    return settings.SESSION_COOKIE_NAME in request.COOKIES


def loaded_user(request: HttpRequest) -> User | None:
    """Return the account that a request comes from if it was read already; this reads none."""
    user = vars(request).get("user")
    if type(user) is SimpleLazyObject:
        user = getattr(request, "_cached_user", None)
    return user if isinstance(user, User) else None


def whole_number(text: str) -> int | None:
    """Return the number that a text is in at most nine digits; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def page_number(query: QueryDict) -> int:
    """Return the number of the page that `?page=N` asks for, from 1."""
    return max(1, whole_number(query.get("page", "")) or 1)


def frame_number(request: HttpRequest, count: int) -> int:
    """Return N of ?ply=N, limited to 0 .. count - 1; 0 if it is missing or not a number."""
    return min(whole_number(request.GET.get("ply", "")) or 0, count - 1)


def account_of(request: HttpRequest | Request) -> User | None:
    """Return the account that a request comes from; None without a login."""
    return request.user if isinstance(request.user, User) else None


SEATED = "sittings"
"""The key in a visitor's session of the sittings that they have begun, by their names in addresses."""


def client_network(request: HttpRequest | Request) -> str | None:
    """Return the visitor's IPv4 address or IPv6 network; None if it is unknown."""
    address = client_address(request.META)
    return network_of(address) if address else None
