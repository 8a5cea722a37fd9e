"""The second factor: codes of an app (TOTP, RFC 6238), and recovery codes for people who have lost the app."""

from __future__ import annotations

from datetime import datetime
from math import ceil

from django.db import transaction
from django.utils import timezone
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from core.errors import Refused
from core.models import ApiToken, User
from core.people.second_factor_selectors import second_factor_begun, second_factor_get

RECOVERY_CODES = 10
TOTP_DIGITS = 6
WRONG_CODE = "This code is wrong or was already used. Wait for the next one, and check your phone's clock."


def second_factor_begin(*, user: User) -> TOTPDevice:
    """Create a secret for a new app, replacing one that was never confirmed. Raises Refused when there is an app."""
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        if second_factor_get(user) is not None:
            raise Refused("You already have a second factor. Remove it first.")
        TOTPDevice.objects.filter(user=user, confirmed=False).delete()
        return TOTPDevice.objects.create(user=user, name="app", confirmed=False)


def second_factor_confirm(*, user: User, code: str) -> tuple[TOTPDevice, list[str]]:
    """Accept an app as the second factor after a correct first code; return it and new recovery codes.

    From then on the password alone does not open the account, so API tokens made before, perhaps by a thief of the
    password, are revoked. Raises Refused.
    """
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        device = second_factor_begun(user)
        if device is None:
            raise Refused("The setup has not been started, or it was replaced. Start again.")
        if _verified(device, code):
            device.confirmed = True
            device.save(update_fields=["confirmed"])
            ApiToken.objects.filter(owner=user).delete()
            return device, _renew_codes(user)
    # Outside the transaction, so that the failed attempt stays counted.
    raise Refused(WRONG_CODE, field="code")


def second_factor_check(*, user: User, code: str) -> Device:
    """Return the device of a code. A recovery code works once. Raises Refused."""
    with transaction.atomic():
        # The lock serialises checks, so that a code is never accepted twice.
        User.objects.select_for_update().get(pk=user.pk)
        clean = "".join(code.split())
        device: Device | None
        if clean.isascii() and clean.isdecimal() and len(clean) == TOTP_DIGITS:
            device = second_factor_get(user)
        else:
            clean, device = clean.lower(), StaticDevice.objects.filter(user=user, confirmed=True).first()
        if device is not None and _verified(device, clean):
            return device
    raise Refused(WRONG_CODE, field="code")


def recovery_codes_renew(*, user: User, code: str) -> list[str]:
    """Replace the recovery codes; requires a valid code. Raises Refused."""
    second_factor_check(user=user, code=code)
    with transaction.atomic():
        return _renew_codes(user)


def second_factor_remove(*, user: User, code: str) -> None:
    """Remove the second factor; requires a valid code. Raises Refused."""
    second_factor_check(user=user, code=code)
    with transaction.atomic():
        TOTPDevice.objects.filter(user=user).delete()
        StaticDevice.objects.filter(user=user).delete()


def _renew_codes(user: User) -> list[str]:
    StaticDevice.objects.filter(user=user).delete()
    device = StaticDevice.objects.create(user=user, name="recovery codes", confirmed=True)
    codes = [StaticToken.random_token() for _ in range(RECOVERY_CODES)]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=code) for code in codes)
    return codes


def _verified(device: Device, code: str) -> bool:
    """Return whether a code is right. Raises Refused while too many wrong codes have locked the device."""
    is_allowed, data = device.verify_is_allowed()
    if not is_allowed:
        until: datetime = data["locked_until"]
        seconds = max(1, ceil((until - timezone.now()).total_seconds()))
        raise Refused(f"Too many wrong codes were tried. Wait {seconds} s, then try again.", field="code")
    return bool(device.verify_token(code))
