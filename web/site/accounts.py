"""Which account a request comes from."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.request import Request

from core.models import User


def account_of(request: HttpRequest | Request) -> User | None:
    """Return the account that a request comes from; None without a login."""
    return request.user if isinstance(request.user, User) else None
