"""Logins that are closed by wrong passwords, opened again."""

from __future__ import annotations

from axes.models import AccessAttempt
from django.core.cache import cache

from core.cache import count_key
from core.models import User

BY_ACCOUNT = "login_account"
"""The rate of tries for one account from all addresses, as RATES names it; counted by its casefolded e-mail."""


def login_unlock(*, user: User) -> bool:
    """Forget the wrong passwords for an account, from whatever address; False when none was counted.

    Without Redis each process counts tries by itself, and only this one forgets them.
    """
    name = user.email.casefold()
    key = count_key(BY_ACCOUNT, name)
    tries = cache.get(key)
    cache.delete_many([key, f"{key}:end"])
    return bool(AccessAttempt.objects.filter(username=name).delete()[0] or tries)
