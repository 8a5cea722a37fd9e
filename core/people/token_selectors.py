"""A person's tokens."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Case, Q, QuerySet, Value, When

from core.models import ApiToken, User


def token_list(owner: User, *, now: datetime) -> QuerySet[ApiToken]:
    """Return a person's tokens, newest first, with `is_expired`."""
    is_expired = Case(When(Q(expires_at__lte=now), then=Value(True)), default=Value(False))
    return ApiToken.objects.filter(owner=owner).annotate(is_expired=is_expired).order_by("-pk")
