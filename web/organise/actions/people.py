"""Actions on accounts (ban, unlock, confirm an address, mail a link, log out, delete), on tokens and on links."""

from __future__ import annotations

from django.utils import timezone

from core.errors import Refused
from core.models import ApiToken, InviteLink, LetterKind, User
from core.moderation.deletion import account_delete
from core.moderation.services import user_ban, user_unban
from core.notices.letters import letter_write
from core.people.access import access_end
from core.people.emails import email_confirmed
from core.people.logins import login_unlock
from core.people.tokens import token_revoke
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


def _confirm(user: User, answer: OrganiserAnswer) -> str:
    _check(user, answer)
    if not user.must_confirm_email:
        raise Refused("Its e-mail is confirmed already.")
    email_confirmed(user=user, email=user.email)
    return "has a confirmed e-mail."


def _mail_link(user: User, answer: OrganiserAnswer) -> str:
    _check(user, answer)
    letter_write(kind=LetterKind.PASSWORD_RESET, email=user.email)
    return "gets a mail with a link to choose a new password."


def _end_sessions(user: User, answer: OrganiserAnswer) -> str:
    _check(user, answer)
    access_end(user=user)
    return "is logged out everywhere, and its tokens are revoked."


def _delete(user: User, answer: OrganiserAnswer) -> str:
    _check(user, answer)
    if user.pk == answer.user.pk:
        raise Refused("You delete your own account in your profile.")
    email = user.email if user.email_confirmed_at is not None else ""
    account_delete(user=user)
    if email:
        letter_write(kind=LetterKind.CLOSED, email=email)
    return "is deleted. Its results stay, under a name without meaning."


def _revoke(token: ApiToken, answer: OrganiserAnswer) -> str:
    _check(token.owner, answer)
    token_revoke(owner=token.owner, token_id=token.pk)
    return "is revoked."


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
        consequence="Their sessions end and their tokens are revoked at once. Their unfinished jobs are cancelled, "
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
    is_told=False,
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
CONFIRM_EMAIL = OrganiserAction(
    name="confirm_email",
    label="Confirm the e-mail by hand",
    button="Confirm the e-mail",
    do=_confirm,
    question=OrganiserQuestion(
        title="Confirm e-mails",
        consequence="The addresses count as confirmed without the link. Do this only for people of whom you know that "
        "the address is theirs: the owner of its mailbox can choose a new password.",
        button="Confirm",
    ),
    fits=lambda user: user.is_active and user.must_confirm_email,
)
MAIL_LINK = OrganiserAction(
    name="mail_link",
    label="Mail a link to choose a new password",
    button="Mail a link for a new password",
    do=_mail_link,
    fits=lambda user: user.is_active and user.has_mailbox,
)
END_SESSIONS = OrganiserAction(
    name="end_sessions",
    label="End all sessions and revoke all tokens",
    button="End sessions and tokens",
    do=_end_sessions,
    fits=lambda user: user.is_active and not user.is_system,
)
DELETE_ACCOUNT = OrganiserAction(
    name="delete",
    label="Delete the account",
    button="Delete the account",
    do=_delete,
    question=OrganiserQuestion(
        title="Delete accounts",
        consequence="The accounts are closed for good. Their versions, tokens, notices and all that names their owners "
        "are deleted. Ratings, duels and the names of agents stay, because they are part of others' history. This "
        "cannot be undone.",
        button="Delete for good",
    ),
    fits=lambda user: not (user.is_system or user.is_team or user.is_deleted),
    right="delete",
)
REVOKE = OrganiserAction(
    name="revoke",
    label="Revoke: programs that use it are refused from now on",
    button="Revoke",
    do=_revoke,
    question=OrganiserQuestion(
        title="Revoke tokens",
        consequence="Programs that use these tokens are refused from now on. This cannot be undone.",
        button="Revoke",
    ),
    right="delete",
)
PEOPLE_ACTIONS = (BAN, UNBAN, UNLOCK, CONFIRM_EMAIL, MAIL_LINK, END_SESSIONS, DELETE_ACCOUNT)
