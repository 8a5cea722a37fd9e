"""A session that has just shown whose it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from allauth.account.internal.flows.login import record_authentication
from django.test import Client

from core.models import User


def just_shown(user: User, method: str = "password", **more: str) -> Client:
    """Return a browser in which a person has logged in a moment ago."""
    client = Client()
    client.force_login(user)
    request: Any = SimpleNamespace(session=client.session)
    record_authentication(request, user, method, **more)
    request.session.save()
    return client
