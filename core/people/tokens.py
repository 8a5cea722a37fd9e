"""Tokens for the API: made, used, revoked."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from arena_kit.text import plain_line
from core.errors import Refused
from core.models import ApiToken, User

PREFIX = "arena_"
"""How every token begins, so that programs which look for lost secrets know it."""
TOKEN_BYTES = 32
HINT_CHARACTERS = len(PREFIX) + 2
MAX_TOKENS = 20
MAX_DAYS = 3650
USED_AGAIN = timedelta(days=1)


def token_create(*, owner: User, name: str, now: datetime, days: int | None) -> tuple[ApiToken, str]:
    """Make a token that is good for so many days (None: until it is revoked); return its row and the token itself.

    The token is not kept, so this is the only time it can be shown. Raises Refused.
    """
    token = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)
        owner.api_tokens.filter(expires_at__lte=now).delete()
        if owner.api_tokens.count() >= MAX_TOKENS:
            raise Refused(f"You have {MAX_TOKENS} tokens, which is as many as there may be. Revoke one first.")
        row = ApiToken.objects.create(
            owner=owner,
            name=plain_line(name) or "unnamed",
            digest=token_digest(token),
            hint=token[:HINT_CHARACTERS],
            expires_at=None if days is None else now + timedelta(days=days),
        )
    return row, token


def token_find(token: str, *, now: datetime) -> ApiToken | None:
    """The row of a token that may be used now, with its owner; notes the day of its use."""
    # Tokens are long and random: nothing can be learned of one from how long a look into the index takes.
    rows = ApiToken.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), owner__is_active=True)
    row = rows.filter(digest=token_digest(token)).select_related("owner").first()
    if row is not None and (row.last_used_at is None or row.last_used_at < now - USED_AGAIN):
        ApiToken.objects.filter(pk=row.pk).update(last_used_at=now)
    return row


def token_revoke(*, owner: User, token_id: int) -> ApiToken | None:
    """Delete a token and return what it was; None when this person has no such token."""
    row = ApiToken.objects.filter(owner=owner, pk=token_id).first()
    return row if row is not None and ApiToken.objects.filter(pk=token_id).delete()[0] else None


def token_digest(token: str) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
