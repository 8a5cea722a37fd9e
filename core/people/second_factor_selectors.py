"""Questions about second factors: has a person one, and does a session still lack it?"""

from __future__ import annotations

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.http import HttpRequest

from core.models import User

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
"""The kinds of second factors. Recovery codes exist only beside one."""
WITHOUT = "without_factor"
"""The place in a session for the session epoch at which its account had no second factor."""


def has_second_factor(user: User) -> bool:
    """Return whether a person has a passkey, or an app that gives codes."""
    found: bool = Authenticator.objects.filter(user=user, type__in=FACTORS).exists()
    return found


def second_factor_shown(request: HttpRequest) -> bool:
    """Return whether this session has shown a second factor of its account."""
    return any(record.get("method") == "mfa" for record in get_authentication_records(request, request.user))


def second_factor_missing(request: HttpRequest) -> bool:
    """Return whether a session has not shown the second factor of its account.

    If every organiser must have one, an organiser without one lacks it too.
    """
    user = request.user
    if not isinstance(user, User) or second_factor_shown(request):
        return False
    if user.is_staff and settings.REQUIRE_STAFF_TOTP:
        return True
    # Asked once in a session: a factor that is added later changes the number, and ends the session.
    if request.session.get(WITHOUT) != user.session_epoch:
        if has_second_factor(user):
            return True
        request.session[WITHOUT] = user.session_epoch
    return False


def recovery_code_count(user: User) -> int:
    """Return the number of recovery codes left."""
    row = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).first()
    return len(row.wrap().get_unused_codes()) if row else 0
