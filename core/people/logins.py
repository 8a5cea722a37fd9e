"""Unlocks logins that wrong passwords have locked."""

from __future__ import annotations

from axes.models import AccessAttempt
from django.core.cache import cache

from core.cache.answers import count_key
from core.models import User

BY_ACCOUNT = "login_account"
"""The rate, as named in RATES, of tries for one account from all addresses; counted by its casefolded e-mail."""


def login_unlock(*, user: User) -> bool:
    """Forget the wrong passwords for an account from all addresses; return False when none was counted.

    Without Redis each process counts tries on its own, and only this process forgets them.
    """
    name = user.email.casefold()
    key = count_key(BY_ACCOUNT, name)
    tries = cache.get(key)
    cache.delete_many([key, f"{key}:end"])
    return bool(AccessAttempt.objects.filter(username=name).delete()[0] or tries)
