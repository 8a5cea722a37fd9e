"""Failed logins, which django-axes counts: the account that they are for, and the answer to too many of them."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Mapping
from typing import Any

from allauth.account.internal.stagekit import get_pending_stage
from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_cool_off
from axes.models import AccessAttempt
from django.contrib.auth.signals import user_logged_in
from django.core.cache import cache
from django.db.models import Max
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from core.models import User
from core.people.audit_log import storable
from core.people.services import email_stored
from web.site.requests import client_network
from web.site.too_many import TooMany, too_many

KNOWN_SECONDS = 30 * 24 * 3600
"""How long the arena remembers that an account was logged in to from an address."""
MOST_CHARACTERS = 254


def account_named(request: HttpRequest | Request, credentials: Mapping[str, Any] | None = None) -> str:
    """Return the account that a login is for, in one spelling that every database can store."""
    name = str((credentials or {}).get("username") or "").replace("\0", "")
    return name[:MOST_CHARACTERS].encode("utf-8", "replace").decode().casefold()


def typed_account(request: HttpRequest | Request) -> str:
    """Return the account that a login form, or a program that requests a token, names.

    Reads the one field that each of them reads, and cleans it in the same way, so that a second field, spaces, wide
    letters or other spellings do not count as another account.
    """
    sent, field = (request.data, "email") if isinstance(request, Request) else (request.POST, "username")
    named = str(sent.get(field) or "") if isinstance(sent, Mapping) else ""
    typed = storable(unicodedata.normalize("NFKC", named)).strip()[:MOST_CHARACTERS]
    return account_named(request, {"username": email_stored(typed)})


def waiting_account(request: HttpRequest | Request) -> str:
    """Return the account that waits in this session for its second factor; empty for none."""
    plain = request._request if isinstance(request, Request) else request
    stage = get_pending_stage(plain)
    user = stage.login.user if stage else None
    return account_named(plain, {"username": user.email}) if isinstance(user, User) else ""


def is_known_here(name: str, request: HttpRequest) -> bool:
    """Return whether this account was logged in to from this address recently."""
    return bool(cache.get(_known_key(name, request)))


def is_locked_here(name: str, request: HttpRequest) -> bool:
    """Return whether this account is locked for this address."""
    return bool(AxesProxyHandler.is_locked(request, {"username": name}))


def login_succeeded(request: HttpRequest, user: User) -> None:
    """Forget the wrong passwords for this account from this address, and remember the address."""
    name = account_named(request, {"username": user.email})
    AccessAttempt.objects.filter(username=name, ip_address=client_network(request)).delete()
    cache.set(_known_key(name, request), True, KNOWN_SECONDS)


@receiver(user_logged_in)
def _on_login(request: HttpRequest, user: User, **_: object) -> None:
    login_succeeded(request, user)


def _known_key(name: str, request: HttpRequest) -> str:
    text = f"{name} {client_network(request)}"
    return f"login-known:{hashlib.blake2b(text.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


def locked_out(request: HttpRequest, credentials: Mapping[str, Any] | None) -> HttpResponse:
    """Answer too many wrong passwords: how long the lock lasts, and that it applies to this address only."""
    seconds = seconds_locked(account_named(request, credentials), client_network(request))
    minutes = math.ceil(seconds / 60)
    return too_many(
        request,
        TooMany(
            f"Too many wrong passwords for this account from your address. Please try again in {minutes} "
            f"minute{'' if minutes == 1 else 's'}, or choose a new password.",
            code="login_locked",
            retry_after_seconds=seconds,
        ),
        title="Login locked for a while",
        offers_reset=True,
    )


def seconds_locked(name: str, address: str | None) -> int:
    """Return for how many more seconds a pair of account and address is locked, at least 1."""
    rows = AccessAttempt.objects.filter(username=name, ip_address=address)
    last = rows.aggregate(last=Max("attempt_time"))["last"]
    cool_off = get_cool_off()
    if last is None or cool_off is None:
        return 1
    left: float = (last + cool_off - timezone.now()).total_seconds()
    return max(1, math.ceil(left))
