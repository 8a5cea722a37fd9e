"""Codes on paper: with theirs, people without an e-mail choose a password, as others do with a link in a mail.

A code is derived from the account and the week, as Django's links are, so nothing is stored that opens an account. It
ends when a password is chosen, when a newer code is made, and after LIFE_WEEKS.
"""

from __future__ import annotations

import base64
from datetime import datetime, timedelta

from django.utils.crypto import constant_time_compare, salted_hmac

from core.models import User
from core.people.access import access_changed

CHARACTERS = 12
"""60 bits: more than limits of logins let anybody try."""
LIFE_WEEKS = 5
READ = str.maketrans("018", "OIB")
"""Digits that no code has, and the letters that they are read for."""


def code_renew(*, user: User, now: datetime) -> str:
    """Return a new code of an account without an e-mail; its password, sessions and tokens end."""
    user.set_unusable_password()
    user.save(update_fields=["password"])
    access_changed(user=user, title="A code from the organisers replaces your password")
    return code_of(user, now)


def code_of(user: User, now: datetime) -> str:
    """Return the code of an account that has no password yet."""
    code = _code(user, _week(now))
    return "-".join(code[at : at + 4] for at in range(0, CHARACTERS, 4))


def has_code(user: User) -> bool:
    """Return whether codes open an account: that of a person without an e-mail who is no organiser."""
    is_persons = not (user.is_system or user.is_team or user.is_deleted)
    return user.is_active and is_persons and not user.has_mailbox and not user.is_staff


def code_user(username: str, typed: str, now: datetime) -> User | None:
    """Return the account that a code opens."""
    user = User.objects.filter(username__iexact=username.strip()).first()
    code = "".join(one for one in typed.upper().translate(READ) if one.isalnum())
    if user is None or not has_code(user) or user.has_usable_password():
        return None
    known = (_code(user, _week(now) - age) for age in range(LIFE_WEEKS))
    return user if any(constant_time_compare(code, one) for one in known) else None


def _week(now: datetime) -> int:
    return int(now.timestamp() // timedelta(weeks=1).total_seconds())


def _code(user: User, week: int) -> str:
    digest = salted_hmac(__name__, f"{user.pk} {user.password} {week}", algorithm="sha256").digest()
    return base64.b32encode(digest).decode()[:CHARACTERS]
