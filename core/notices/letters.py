"""Mails about an account: links to choose a new password, and links that confirm an e-mail address.

They use the outbox of notices: a row is written at once, and workers try to send it until the mail server accepts it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from core.jobs.bells import MAIL_TASK, wake
from core.links import absolute, page
from core.models import Letter, LetterKind, User
from core.notices.outbox import OutboxRun, post

logger = logging.getLogger(__name__)
SALT = "core.letters.email"
LINK_DAYS = 7
"""Days for which a link can confirm an e-mail address; people can request a new one."""


def letter_write(*, kind: LetterKind, email: str) -> None:
    """Queue a letter to this address, unless one is already waiting.

    It takes the same time with and without an account, so it does not reveal who has one.
    """
    now = timezone.now()
    with transaction.atomic():
        if not Letter.objects.filter(kind=kind, email__iexact=email).exists():
            Letter.objects.create(kind=kind, email=email, created_at=now, mail_next_at=now)
        wake("publish", MAIL_TASK, 0)


def letters_send(run: OutboxRun) -> int:
    """Send the letters that are due in a run of the outbox; return how many mails were sent."""
    return sum(_send(row, run.connection) for row, _ in run.claimed(run.due(Letter.objects.all())))


def email_token(user: User) -> str:
    """Return the token of a link that confirms an account's current e-mail address: signed, so it cannot be forged."""
    return signing.dumps([user.pk, user.email], salt=SALT)


def email_find(token: str) -> User | None:
    """Return the user of a token; None if it is expired or forged, or the account has another address by now."""
    try:
        key, email = signing.loads(token, salt=SALT, max_age=timedelta(days=LINK_DAYS))
        return User.objects.get(pk=key, email=email, is_active=True)
    except (signing.BadSignature, User.DoesNotExist, ValueError, TypeError):
        return None


def email_confirm(*, user: User) -> None:
    """Confirm an account's e-mail address, so that it gets mails from now on."""
    rows = User.objects.filter(pk=user.pk, email=user.email, email_confirmed_at=None)
    rows.update(email_confirmed_at=timezone.now())
    user.refresh_from_db(fields=["email_confirmed_at"])


def _send(row: Letter, connection: BaseEmailBackend) -> int:
    """Send a letter to every account that it is for, and delete it when there is nothing left to do."""
    sent = 0
    for user in _accounts(row):
        posted = post(row, partial(_mail, row, user, connection), connection)
        if posted.error and not posted.is_final:
            Letter.objects.filter(pk=row.pk).update(mail_error=posted.error)
            return sent
        sent += not posted.error
    row.delete()
    return sent


def _accounts(row: Letter) -> list[User]:
    if row.kind == LetterKind.INVITATION:
        return _invited(row.email)
    if row.kind == LetterKind.PASSWORD_RESET:
        # Django's own choice: open accounts with a password whose address matches exactly.
        return list(PasswordResetForm().get_users(row.email)) or _invited(row.email)
    return list(User.objects.filter(email__iexact=row.email, is_active=True, email_confirmed_at=None))


def _invited(email: str) -> list[User]:
    """Return the open accounts that organisers have made for an address and whose owners have chosen no password."""
    rows = User.objects.filter(email__iexact=email, is_active=True, last_login=None)
    return [user for user in rows if not user.has_usable_password() and not user.is_system]


def _mail(row: Letter, user: User, connection: BaseEmailBackend) -> EmailMessage:
    mail = WRITERS[LetterKind(row.kind)](user)
    mail.connection = connection
    return mail


def _password_link(user: User) -> str:
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return absolute(page("password_reset", uid, default_token_generator.make_token(user)))


def _invitation(user: User) -> EmailMessage:
    return EmailMessage(
        subject=f"{settings.SITE_NAME}: your account",
        body=f"Hello,\n\nthe organisers of {settings.SITE_NAME} have made an account for you. Its user name is "
        f"{user.username}.\n\nChoose a password here:\n\n{_password_link(user)}\n\nThe link works once and only for a "
        f"short time. Later, ask for a new one here:\n\n{absolute(page('password_reset_begin'))}\n\n"
        "If you do not want an account, do nothing.\n",
        to=[user.email],
    )


def _reset(user: User) -> EmailMessage:
    link = _password_link(user)
    return EmailMessage(
        subject=f"{settings.SITE_NAME}: choose a new password",
        body=f"This link lets you choose a new password for {user.username}:\n\n{link}\n\n"
        "If you did not ask for it, do nothing: the link works once and only for a short time.\n",
        to=[user.email],
    )


def _confirmation(user: User) -> EmailMessage:
    link = absolute(page("email_confirm", email_token(user)))
    return EmailMessage(
        subject=f"{settings.SITE_NAME}: confirm your address",
        body=f"Hello {user.username},\n\nplease confirm that this is your address:\n\n{link}\n\n"
        f"The link works for {LINK_DAYS} days. Until then the arena mails you nothing else. If you have no account "
        "here, do nothing: the address was probably mistyped.\n",
        to=[user.email],
    )


WRITERS: dict[LetterKind, Callable[[User], EmailMessage]] = {
    LetterKind.PASSWORD_RESET: _reset,
    LetterKind.INVITATION: _invitation,
    LetterKind.CONFIRM_EMAIL: _confirmation,
}
