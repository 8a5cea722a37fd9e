"""Rights of organisers: one function decides, for pages, the API and the executor.

Staff without a right can do no more than a member. `docs/organiser/organise.md` lists which act needs which right.
"""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser

from core.models import User

SUPERUSER = "superuser"
"""In the place of a right, for what only superusers may do."""


def may(user: User | AnonymousUser, right: str = "") -> bool:
    """Return whether a person is an organiser and has a right. right: empty for every organiser, or SUPERUSER."""
    if not isinstance(user, User) or not user.is_active or not user.is_staff:
        return False
    return user.is_superuser if right == SUPERUSER else not right or user.has_perm(right)
