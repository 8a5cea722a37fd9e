"""Finds accounts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from core.models import User


def people_named(names: Iterable[str]) -> dict[str, User]:
    """Return the accounts with these user names or e-mails, by the words that name them in small letters.

    A word with an @ is an e-mail. A user name may have one as well, but does not count then: otherwise people could
    call themselves by the address of another person, and get what is meant for that one.
    """
    names = set(names)
    wanted, low = {name.casefold() for name in names}, _lowered(names)
    rows = User.objects.annotate(low_name=Lower("username"), low_email=Lower("email"))
    found: dict[str, User] = {}
    for user in rows.filter(Q(low_name__in=low) | Q(low_email__in=low)):
        words = {user.email.casefold(), user.username.casefold() if "@" not in user.username else ""}
        found |= dict.fromkeys(words & wanted, user)
    return found


def usernames_taken(names: Iterable[str]) -> set[str]:
    """Return which of these user names accounts have, in small letters."""
    rows = User.objects.annotate(low_name=Lower("username")).filter(low_name__in=_lowered(names))
    return {name.casefold() for name in rows.values_list("username", flat=True)}


def _lowered(names: Iterable[str]) -> set[str]:
    """Return names as databases write them in small letters: SQLite knows ASCII alone, and PostgreSQL keeps an ß."""
    return {
        low
        for name in names
        for low in (name.casefold(), name.lower(), "".join(one.lower() if one.isascii() else one for one in name))
    }


def people_found(words: str) -> QuerySet[User]:
    """Return the accounts in whose names, e-mail or team some words stand, by user name."""
    rows = User.objects.order_by("username")
    for word in words.split():
        names = ("username", "first_name", "email", "team", "github")
        rows = rows.filter(reduce(or_, (Q(**{f"{name}__icontains": word}) for name in names)))
    return rows
