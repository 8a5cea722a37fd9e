"""Actions on accounts: ban, lift the ban, and unlock logins."""

from __future__ import annotations

from django.utils import timezone

from core.errors import Refused
from core.models import InviteLink, User
from core.moderation.services import user_ban, user_unban
from core.people.logins import login_unlock
from core.tournaments.invite_links import link_end
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion
from web.site.organisers import may_change_account


def _check(user: User, answer: OrganiserAnswer) -> None:
    """Raise Refused for the account of another organiser, unless a superuser asks."""
    if not may_change_account(answer.user, user):
        raise Refused("Only superusers may change the accounts of organisers.")


def _ban(user: User, answer: OrganiserAnswer) -> str:
    _check(user, answer)
    if user.pk == answer.user.pk:
        raise Refused("You cannot ban yourself.")
    user_ban(user=user, reason=answer.reason)
    return "is banned."


def _unban(user: User, answer: OrganiserAnswer) -> str:
    _check(user, answer)
    user_unban(user=user)
    return "may take part again."


def _unlock(user: User, answer: OrganiserAnswer) -> str:
    _check(user, answer)
    if not login_unlock(user=user):
        raise Refused("No wrong passwords are counted.")
    return "can log in again from everywhere."


def _end_link(link: InviteLink, answer: OrganiserAnswer) -> str:
    link_end(link=link, now=timezone.now())
    return "creates no more accounts."


BAN = OrganiserAction(
    name="ban",
    label="Ban, with a reason",
    button="Ban",
    do=_ban,
    question=OrganiserQuestion(
        title="Ban people",
        consequence="Their sessions end and their tokens stop working at once. Their unfinished jobs are cancelled, "
        "and their agents are withdrawn from running editions. Their results stay. You can lift the ban.",
        button="Ban",
        reason="Reason, shown to them when they try to log in",
    ),
    fits=lambda user: user.is_active and not user.is_system,
)
UNBAN = OrganiserAction(
    name="unban",
    label="Lift the ban",
    button="Lift the ban",
    do=_unban,
    fits=lambda user: not user.is_active and not user.is_deleted,
)
UNLOCK = OrganiserAction(
    name="unlock_logins",
    label="Unlock logins after wrong passwords",
    button="Unlock logins",
    do=_unlock,
    fits=lambda user: user.is_active and not user.is_system,
)
END_LINK = OrganiserAction(
    name="end",
    label="End: create no more accounts",
    button="End the link",
    do=_end_link,
    fits=lambda link: link.expires_at > timezone.now() and not link.is_full,
    right="add",
    of="core.user",
)
PEOPLE_ACTIONS = (BAN, UNBAN, UNLOCK)
