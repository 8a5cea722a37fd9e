"""Codes of the second factor: from an app (TOTP, RFC 6238), or recovery codes for people who have lost it.

django-allauth stores them and sets them up. Pages and the API check them here, so that a code works once everywhere,
and wrong codes are counted for both together.
"""

from __future__ import annotations

import secrets
import time
from math import ceil
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db import transaction

from core.errors import Refused
from core.models import LetterKind, User
from core.notices.letters import letter_write
from core.people.second_factor_selectors import has_second_factor

TOTP_DIGITS = 6
STEP_SECONDS = 30
VALID_SECONDS = STEP_SECONDS * (2 * settings.MFA_TOTP_TOLERANCE + 1)
LONGEST_WAIT = 24 * 3600
WRONG_CODE = "This code is wrong or was already used. Wait for the next one, and check your phone's clock."


def second_factor_check(*, user: User, code: str) -> Authenticator:
    """Return the app or the recovery codes that a code belongs to. Each code works once. Raises Refused.

    After each wrong code the account has to wait twice as long until the next is looked at, from one second on, for
    codes of the app and for recovery codes separately.
    """
    clean = "".join(code.split()).lower()
    is_of_app = clean.isascii() and clean.isdecimal() and len(clean) == TOTP_DIGITS
    kind = Authenticator.Type.TOTP if is_of_app else Authenticator.Type.RECOVERY_CODES
    with transaction.atomic():
        # The lock serialises checks, so that a code is never accepted twice.
        User.objects.select_for_update().get(pk=user.pk)
        row = Authenticator.objects.filter(user=user, type=kind).first()
        if row is not None:
            _wait_check(row.data)
            row, is_right = _checked(row, clean)
            row.save(update_fields=["data"])
            if is_right:
                return row
    # Outside the transaction, so that the failed attempt stays counted.
    raise Refused(WRONG_CODE, field="code")


def second_factor_lost(*, user: User) -> None:
    """Let a person whose second factors organisers have removed choose another password, by a link that is mailed.

    The old password opens nothing any more: alone it would open the account now, and its thief may be waiting.
    """
    if has_second_factor(user):
        return
    with transaction.atomic():
        Authenticator.objects.filter(user=user).delete()
        user.set_password(secrets.token_urlsafe())
        user.save(update_fields=["password"])
        letter_write(kind=LetterKind.PASSWORD_RESET, email=user.email)


def _checked(row: Authenticator, code: str) -> tuple[Authenticator, bool]:
    """Return the row with what is to be remembered of this check, and whether the code is right."""
    now = time.time()
    used = {old: at for old, at in row.data.get("used", {}).items() if at > now - VALID_SECONDS}
    checker = row.wrap()
    is_right = code not in used and bool(checker.validate_code(code))
    # The checker of recovery codes has read the row anew.
    row = checker.instance
    if is_right:
        changes: dict[str, Any] = {"failures": 0, "used": used}
        if row.type == Authenticator.Type.TOTP:
            changes["used"] = {**used, code: now}
    else:
        changes = {"failures": row.data.get("failures", 0) + 1, "failed_at": now, "used": used}
    row.data = {**row.data, **changes}
    return row, is_right


def _wait_check(data: dict[str, Any]) -> None:
    """Raise Refused while wrong codes keep an account waiting."""
    failures = data.get("failures", 0)
    if failures:
        wait = min(LONGEST_WAIT, 2 ** min(failures - 1, 30))
        left = data["failed_at"] + wait - time.time()
        if left > 0:
            raise Refused(f"Too many wrong codes were tried. Wait {ceil(left)} s, then try again.", field="code")
