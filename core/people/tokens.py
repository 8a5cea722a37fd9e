"""Tokens for the API: created, used, revoked."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, Value, When

from arena_kit.text import plain_line
from core.errors import Refused
from core.models import ApiToken, Team, TokenScope, User
from core.people.access import access_told

PREFIX = "arena_"
"""The prefix of every token, by which scanners for leaked secrets recognise it."""
TOKEN_BYTES = 32
HINT_CHARACTERS = len(PREFIX) + 2
MAX_TOKENS = 20
MAX_DAYS, USUAL_DAYS = 365, 30
ADDRESS_LIMIT = ApiToken._meta.get_field("last_used_address").max_length
NOTED_AGAIN = timedelta(minutes=5)
"""The use of a token is noted this often at most."""


def token_create(
    *,
    owner: User,
    name: str,
    now: datetime,
    days: int = USUAL_DAYS,
    scope: TokenScope = TokenScope.API,
    team: Team | None = None,
) -> tuple[ApiToken, str]:
    """Create a token that is valid for so many days; return its row and the token.

    team: one of theirs, as which programs act with it. The token is not stored, so it can only be shown now. Raises
    Refused, also if what opens the account has changed since `owner` was read.
    """
    if not 1 <= days <= MAX_DAYS:
        raise Refused(f"A token is valid for 1 to {MAX_DAYS} days.", field="days")
    token = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    with transaction.atomic():
        if User.objects.select_for_update().get(pk=owner.pk).session_epoch != owner.session_epoch:
            raise Refused("What opens your account has just changed. Log in again.")
        owner.api_tokens.filter(expires_at__lte=now).delete()
        if owner.api_tokens.count() >= MAX_TOKENS:
            raise Refused(f"You have {MAX_TOKENS} tokens, which is the maximum. Revoke one first.")
        row = ApiToken.objects.create(
            owner=owner,
            team=team,
            name=plain_line(name) or "unnamed",
            scope=scope,
            digest=token_digest(token),
            hint=token[:HINT_CHARACTERS],
            expires_at=now + timedelta(days=days),
        )
        access_told(user=owner, title=f"The API token {row.name} was created")
    return row, token


def token_find(token: str, *, now: datetime, scope: TokenScope = TokenScope.API, address: str = "") -> ApiToken | None:
    """Return the row of a valid token of a scope with its owner, and note its use; None for any other."""
    # Tokens are long and random, so the time of an index lookup reveals nothing about them.
    rows = ApiToken.objects.filter(expires_at__gt=now, owner__is_active=True)
    # A person who has left a team can no longer work as it.
    rows = rows.filter(Q(team=None) | Q(team__people__user=F("owner"), team__account__is_active=True))
    row = rows.filter(digest=token_digest(token), scope=scope).select_related("owner", "team__account").first()
    if row is not None and (row.last_used_at is None or row.last_used_at < now - NOTED_AGAIN):
        ApiToken.objects.filter(pk=row.pk).update(last_used_at=now, last_used_address=address[:ADDRESS_LIMIT])
    return row


def token_revoke(*, owner: User, token_id: int) -> ApiToken | None:
    """Delete a person's token and return its row; None when the person has no such token."""
    row = ApiToken.objects.filter(owner=owner, pk=token_id).first()
    return row if row is not None and ApiToken.objects.filter(pk=token_id).delete()[0] else None


def token_digest(token: str) -> str:
    """Return a token's SHA-256 in hex."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def token_list(owner: User, *, now: datetime) -> QuerySet[ApiToken]:
    """Return a person's tokens, newest first, with `is_expired`."""
    is_expired = Case(When(Q(expires_at__gt=now), then=Value(False)), default=Value(True))
    return (
        ApiToken.objects.filter(owner=owner)
        .select_related("team__account")
        .annotate(is_expired=is_expired)
        .order_by("-pk")
    )
