"""A person's inbox, and their choices of how to get notices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from core.lookup import ByKey
from core.models import Notice, NoticeChoice, NoticeKind, User

MAILED = frozenset(
    {
        NoticeKind.VALIDATION,
        NoticeKind.QUARANTINE,
        NoticeKind.TOURNAMENT_INVITED,
        NoticeKind.TOURNAMENT_ENDED,
        NoticeKind.ANNOUNCEMENT,
        NoticeKind.ACCESS,
    }
)
"""The kinds that are mailed by default: those that need action or are waited for. All kinds are in the inbox."""
COUNTED = 100
"""Maximum number of unread notices that are counted."""


@dataclass(frozen=True, slots=True)
class NoticeWay:
    """How a person gets notices of one kind."""

    kind: NoticeKind
    in_inbox: bool
    by_mail: bool


def choice_list(user: User) -> list[NoticeWay]:
    """Return a person's choice for every kind."""
    found = choices([user])
    return [found[user.pk, kind] for kind in NoticeKind]


def choices(users: Iterable[User]) -> dict[tuple[int, NoticeKind], NoticeWay]:
    """Return the choices of many people, by person and kind, with the defaults where they have made none."""
    keys = [user.pk for user in users]
    found = {
        (key, kind): NoticeWay(kind, in_inbox=True, by_mail=kind in MAILED) for key in set(keys) for kind in NoticeKind
    }
    known = {kind.value: kind for kind in NoticeKind}
    for row in NoticeChoice.objects.filter(user__in=keys, kind__in=known):
        kind = known[row.kind]
        found[row.user_id, kind] = NoticeWay(kind, row.in_inbox, row.by_mail)
    return found


def inbox(user: User) -> QuerySet[Notice]:
    """Return the notices in a person's inbox, newest first."""
    return Notice.objects.filter(user=user, in_inbox=True).order_by("-pk")


UNREAD = ByKey(
    lambda user: Notice.objects.filter(user=user, in_inbox=True, read_at=None).order_by().values_list("pk")[:COUNTED]
)


def unread_count(user: User) -> int:
    """Return the number of a person's unread notices, at most COUNTED."""
    return len(UNREAD(user.pk))
