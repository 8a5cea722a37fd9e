"""Whether a person has a second factor, and whether a session still lacks it."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from core.models import User


def second_factor_get(user: User) -> TOTPDevice | None:
    """Return the app that gives a person's codes, once a first code has confirmed it; otherwise None."""
    device: TOTPDevice | None = TOTPDevice.objects.filter(user=user, confirmed=True).first()
    return device


def second_factor_begun(user: User) -> TOTPDevice | None:
    """Return the app that a person is setting up; None without one."""
    device: TOTPDevice | None = TOTPDevice.objects.filter(user=user, confirmed=False).order_by("-pk").first()
    return device


def second_factor_missing(user: User | AnonymousUser) -> bool:
    """Return whether an organiser's session lacks the second factor that it needs.

    If every organiser must have one, an organiser without one lacks it too. Other people show it at the login, so
    their sessions are complete. user: of a request, as the middleware of django-otp has left it.
    """
    if not isinstance(user, User) or not user.is_staff or getattr(user, "otp_device", None) is not None:
        return False
    return bool(settings.REQUIRE_STAFF_TOTP) or second_factor_get(user) is not None


def recovery_code_count(user: User) -> int:
    """Return the number of recovery codes left."""
    count: int = StaticToken.objects.filter(device__user=user).count()
    return count
