"""What an account's owner was told about the ways to log in."""

from __future__ import annotations

from core.models import Notice, NoticeKind, User


def told(user: User) -> list[str]:
    """Return the titles, the oldest first."""
    return list(Notice.objects.filter(user=user, kind=NoticeKind.ACCESS).order_by("pk").values_list("title", flat=True))
