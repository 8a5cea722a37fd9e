"""Notices: somebody's inbox, and how they want to hear of what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from core.models import Notice, NoticeChoice, NoticeKind, User

MAILED = frozenset({NoticeKind.VALIDATION, NoticeKind.QUARANTINE, NoticeKind.TOURNAMENT_ENDED})
"""What is mailed to who has not chosen: what needs something done, and what was waited for. All is in the inbox."""
COUNTED = 100
"""Unread notices that are counted; how many more there are helps nobody."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How somebody hears of one kind of thing."""

    kind: NoticeKind
    in_inbox: bool
    by_mail: bool


def choice_list(user: User) -> list[Choice]:
    """A person's choice for every kind."""
    found = choices([user])
    return [found[user.pk, kind] for kind in NoticeKind]


def choices(users: Iterable[User]) -> dict[tuple[int, NoticeKind], Choice]:
    """The choices of many people, by person and kind; the defaults where they have made none."""
    keys = [user.pk for user in users]
    found = {
        (key, kind): Choice(kind, in_inbox=True, by_mail=kind in MAILED) for key in set(keys) for kind in NoticeKind
    }
    known = {kind.value: kind for kind in NoticeKind}
    for row in NoticeChoice.objects.filter(user__in=keys, kind__in=known):
        kind = known[row.kind]
        found[row.user_id, kind] = Choice(kind, row.in_inbox, row.by_mail)
    return found


def inbox(user: User) -> QuerySet[Notice]:
    """What a person finds in their inbox, newest first."""
    return Notice.objects.filter(user=user, in_inbox=True).order_by("-pk")


def unread_count(user: User) -> int:
    """How many notices a person has not read, counted up to COUNTED."""
    return inbox(user).filter(read_at=None).order_by()[:COUNTED].count()
