"""Mails about an account: links to choose a new password, and links that confirm an e-mail address.

They use the outbox of notices: a row is written at once, and workers try to send it until the mail server accepts it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from allauth.account import app_settings
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.utils import timezone

from core.jobs.messages import MAIL_TASK, task_request
from core.links import absolute, page
from core.models import Letter, LetterKind, User
from core.models.user import NO_MAILBOX
from core.notices.outbox import OutboxRun, post


def letter_write(*, kind: LetterKind, email: str) -> None:
    """Queue a letter to this address, unless one is already waiting.

    It takes the same time with and without an account, so it does not reveal who has one.
    """
    if email.endswith(NO_MAILBOX):
        return
    now = timezone.now()
    with transaction.atomic():
        if not Letter.objects.filter(kind=kind, email__iexact=email).exists():
            Letter.objects.create(kind=kind, email=email, created_at=now, mail_next_at=now)
        task_request("publish", MAIL_TASK, 0)


def letters_send(run: OutboxRun) -> int:
    """Send the letters that are due in a run of the outbox; return how many mails were sent."""
    return sum(_send(row, run.connection) for row, _ in run.claimed(run.due(Letter.objects.all())))


def _send(row: Letter, connection: BaseEmailBackend) -> int:
    """Send a letter to every account that it is for, and delete it when there is nothing left to do."""
    sent = 0
    for make in _mails(row):
        posted = post(row, partial(_with, connection, make), connection)
        if posted.error and not posted.is_final:
            Letter.objects.filter(pk=row.pk).update(mail_error=posted.error)
            return sent
        sent += not posted.error
    row.delete()
    return sent


def _with(connection: BaseEmailBackend, make: Callable[[], EmailMessage]) -> EmailMessage:
    mail = make()
    mail.connection = connection
    return mail


def _mails(row: Letter) -> list[Callable[[], EmailMessage]]:
    if row.kind == LetterKind.PASSWORD_RESET:
        people = User.objects.filter(email__iexact=row.email, is_active=True)
        return [partial(_reset, user) for user in people if not user.is_system and _may_have_password(user)]
    if row.kind == LetterKind.INVITATION:
        return [partial(_invitation, user) for user in User.objects.filter(email__iexact=row.email) if _is_new(user)]
    if row.kind in (LetterKind.EMAIL_CHANGED, LetterKind.CLOSED):
        return [partial(_changed if row.kind == LetterKind.EMAIL_CHANGED else _closed, row.email)]
    return [partial(_confirmation, address) for address in _unconfirmed(row.email)]


def _may_have_password(user: User) -> bool:
    """Return whether an account has a password, or has none because it is new or a provider opens it.

    Organisers may have taken an account's password away.
    """
    return user.has_usable_password() or _is_new(user) or SocialAccount.objects.filter(user=user).exists()


def _is_new(user: User) -> bool:
    """Return whether organisers have made an open account whose owner has chosen no password yet."""
    return user.is_active and user.last_login is None and not user.has_usable_password() and not user.is_system


def _unconfirmed(email: str) -> list[EmailAddress]:
    """Return the addresses that are to be confirmed: those of accounts, and new ones of accounts that change them."""
    for user in User.objects.filter(email__iexact=email, is_active=True, email_confirmed_at=None):
        EmailAddress.objects.get_or_create(user=user, email=user.email.lower(), defaults={"primary": True})
    rows = EmailAddress.objects.filter(email=email.lower(), verified=False, user__is_active=True)
    return list(rows.select_related("user"))


def _life() -> str:
    """Return how long a link to choose a password works, in words."""
    return f"{settings.PASSWORD_RESET_TIMEOUT // 3600} hours"


def _password_link(user: User) -> str:
    token = app_settings.PASSWORD_RESET_TOKEN_GENERATOR().make_token(user)
    return absolute(page("password_reset", user_pk_to_url_str(user), token))


def _invitation(user: User) -> EmailMessage:
    return EmailMessage(
        subject=f"{settings.SITE_NAME}: your account",
        body=f"Hello,\n\nthe organisers of {settings.SITE_NAME} have made an account for you. Its user name is "
        f"{user.username}.\n\nChoose a password here:\n\n{_password_link(user)}\n\nThe link works once, for "
        f"{_life()}. Later, ask for a new one here:\n\n{absolute(page('password_reset_begin'))}\n\n"
        "If you do not want an account, do nothing.\n",
        to=[user.email],
    )


def _reset(user: User) -> EmailMessage:
    # A stranger may have chosen the name, with another person's address.
    whose = user.username if user.email_confirmed_at is not None else "your account"
    return EmailMessage(
        subject=f"{settings.SITE_NAME}: choose a new password",
        body=f"This link lets you choose a new password for {whose}:\n\n{_password_link(user)}\n\n"
        f"If you did not ask for it, do nothing: the link works once, for {_life()}.\n",
        to=[user.email],
    )


def _confirmation(address: EmailAddress) -> EmailMessage:
    # Without the user name, which may be the text of a stranger who typed this address.
    link = absolute(page("email_confirm", EmailConfirmationHMAC(address).key))
    return EmailMessage(
        subject=f"{settings.SITE_NAME}: confirm your address",
        body=f"Hello,\n\nplease confirm that this is your address:\n\n{link}\n\n"
        f"The link works for {settings.ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS} days. Until then the arena mails "
        "this address nothing else. If you have no account here, do nothing: the address was probably mistyped.\n",
        to=[address.email],
    )


def _changed(email: str) -> EmailMessage:
    return EmailMessage(
        subject=f"{settings.SITE_NAME}: another address",
        body=f"Hello,\n\nyour account at {absolute('')} has another e-mail address now; this one no longer opens it. "
        "If you did not change it, tell the organisers at once.\n",
        to=[email],
    )


def _closed(email: str) -> EmailMessage:
    user = User.objects.filter(email__iexact=email, is_active=False).first()
    reason = f" The reason: {user.ban_reason}" if user is not None and user.ban_reason else ""
    return EmailMessage(
        subject=f"{settings.SITE_NAME}: your account is closed",
        body=f"Hello,\n\nthe organisers have closed your account at {absolute('')}.{reason}\n",
        to=[email],
    )
