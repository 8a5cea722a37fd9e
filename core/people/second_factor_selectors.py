"""Whether somebody has a second factor, and whether a session still lacks it."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from core.models import User


def second_factor_get(user: User) -> TOTPDevice | None:
    """The app that gives a person's codes, once a first code has shown that it works."""
    device: TOTPDevice | None = TOTPDevice.objects.filter(user=user, confirmed=True).first()
    return device


def second_factor_begun(user: User) -> TOTPDevice | None:
    """The app that a person sets up at the moment."""
    device: TOTPDevice | None = TOTPDevice.objects.filter(user=user, confirmed=False).order_by("-pk").first()
    return device


def second_factor_missing(user: User | AnonymousUser) -> bool:
    """Whether an organiser's session has not shown the second factor that it needs to be anybody's.

    Where every organiser must have one, one without is missing it, too. Others log in with it or not at all, so that
    their sessions are good. user: of a request, as the middleware of django-otp has left it.
    """
    if not isinstance(user, User) or not user.is_staff or getattr(user, "otp_device", None) is not None:
        return False
    return bool(settings.REQUIRE_STAFF_TOTP) or second_factor_get(user) is not None


def recovery_code_count(user: User) -> int:
    """How many recovery codes are left."""
    count: int = StaticToken.objects.filter(device__user=user).count()
    return count
