"""Links with which organisers let people create accounts, in place of the invitation code."""

from __future__ import annotations

from datetime import datetime

from django.core import signing
from django.db import transaction
from django.db.models import F

from core.errors import Refused
from core.links import absolute, page
from core.models import InviteLink, User
from core.people.services import user_create
from core.tournaments.inviting import people_invite

SALT = "core.invite_links"
OVER = "This invitation link has expired or is used up. Ask the organiser who sent it for another one."


def link_address(link: InviteLink) -> str:
    """Return the full address to send to people: the signed key of the row, so it cannot be guessed."""
    return f"{absolute(page('sign_up'))}?invite={signing.Signer(salt=SALT).sign(str(link.pk))}"


def link_find(token: str, *, now: datetime) -> InviteLink | None:
    """Return the link of an address that can still create an account; None for any other."""
    try:
        key = int(signing.Signer(salt=SALT).unsign(token))
    except (signing.BadSignature, ValueError):
        return None
    rows = InviteLink.objects.filter(account_count__lt=F("most_accounts"), expires_at__gt=now)
    return rows.select_related("tournament__environment").filter(pk=key).first()


def link_end(*, link: InviteLink, now: datetime) -> None:
    """Let a link create no more accounts. Raises Refused if it has expired already."""
    if not InviteLink.objects.filter(pk=link.pk, expires_at__gt=now).update(expires_at=now):
        raise Refused("It has expired already.")


def link_accept(*, link: InviteLink, user: User, now: datetime) -> None:
    """Invite a person who has an account to the tournament of a link, which takes one of its places.

    Raises Refused if the link has no place left.
    """
    tournament = link.tournament
    if tournament is None or tournament.invited.filter(pk=user.pk).exists():
        return
    with transaction.atomic():
        _take_place(link, now)
        people_invite(tournament=tournament, people=[user])


def user_create_by_link(
    *,
    link: InviteLink,
    now: datetime,
    email: str,
    username: str,
    password: str | None,
    team: str = "",
    github: str = "",
) -> User:
    """Create an account by a link, invited to its tournament. Raises Refused, also if the link has no place left."""
    with transaction.atomic():
        _take_place(link, now)
        user = user_create(email=email, username=username, password=password, team=link.team or team, github=github)
        if link.tournament is not None:
            people_invite(tournament=link.tournament, people=[user])
    return user


def _take_place(link: InviteLink, now: datetime) -> None:
    rows = InviteLink.objects.filter(pk=link.pk, account_count__lt=F("most_accounts"), expires_at__gt=now)
    if not rows.update(account_count=F("account_count") + 1):
        raise Refused(OVER)
