"""Checks passwords, and notes when the right one was typed for a closed account."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from core.models import User


class AccountBackend(ModelBackend):
    """Django's backend. Every login costs one hash, so its time does not tell which accounts are closed."""

    _request: HttpRequest | None = None

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        # Django makes a backend for each login.
        self._request = request
        return super().authenticate(request, username=username, password=password, **kwargs)

    def user_can_authenticate(self, user: User | AnonymousUser | None) -> bool:
        """Return whether an account is open. After the right password of a closed one, the request gets the account."""
        is_open = super().user_can_authenticate(user)
        if self._request is not None and not is_open:
            self._request.closed_account = user  # type: ignore[attr-defined]
        return is_open


def closed_account(request: HttpRequest | None) -> User | None:
    """Return the closed account whose password this request has shown; None for none."""
    found = getattr(request, "closed_account", None)
    return found if isinstance(found, User) else None
