"""Finds accounts."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from core.models import User


def people_named(names: Iterable[str]) -> dict[str, User]:
    """Return the accounts with these user names or e-mails, by both in small letters."""
    wanted = {name.casefold() for name in names}
    rows = User.objects.annotate(low_name=Lower("username"), low_email=Lower("email"))
    found: dict[str, User] = {}
    for user in rows.filter(Q(low_name__in=wanted) | Q(low_email__in=wanted)):
        found |= {user.email.casefold(): user, user.username.casefold(): user}
    return found


def people_found(words: str) -> QuerySet[User]:
    """Return the accounts in whose user name, e-mail, team or GitHub name some words stand, by user name."""
    rows = User.objects.order_by("username")
    for word in words.split():
        rows = rows.filter(
            Q(username__icontains=word) | Q(email__icontains=word) | Q(team__icontains=word) | Q(github__icontains=word)
        )
    return rows
