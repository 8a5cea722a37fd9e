"""E-mail addresses: confirmed by their owners, and changed.

django-allauth keeps the addresses of an account, with the new one while a change is not confirmed yet. The account has
the one that counts, and when its owner confirmed it.
"""

from __future__ import annotations

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.errors import Refused
from core.models import LetterKind, User
from core.notices.letters import letter_write
from core.people.access import access_changed, access_end, account_lock

OF_ANOTHER = "This address belongs to another account. Log in to that one, or choose a new password for it."


def email_confirmed(*, user: User, email: str) -> None:
    """Note that the owner of an account has confirmed an address, which is the account's from now on.

    The address before is told, so that a thief of the account does not take it unseen. Raises Refused when another
    account has the address, even if it was confirmed there at the same moment.
    """
    if email_is_of_another(user=user, email=email):
        raise Refused(OF_ANOTHER, field="email")
    try:
        _email_set(user=user, email=email)
    except IntegrityError:
        raise Refused(OF_ANOTHER, field="email") from None


def _email_set(*, user: User, email: str) -> None:
    """Make an address the account's, confirmed. Raises IntegrityError when another account has it."""
    with transaction.atomic():
        EmailAddress.objects.filter(user=user).exclude(email=email.lower()).delete()
        EmailAddress.objects.update_or_create(
            user=user, email=email.lower(), defaults={"primary": True, "verified": True}
        )
        is_new = user.email.lower() != email.lower()
        if is_new and user.email_confirmed_at is not None:
            letter_write(kind=LetterKind.EMAIL_CHANGED, email=user.email)
        if is_new or user.email_confirmed_at is None:
            user.email = email if is_new else user.email
            user.email_confirmed_at = timezone.now()
            user.save(update_fields=["email", "email_confirmed_at"])
        if is_new:
            access_changed(user=user, title="Your account has another e-mail address")


def email_change_begin(*, user: User, email: str) -> EmailAddress:
    """Note that a person wants another address, in place of an earlier wish, and mail the link that confirms it there.

    Until the link is opened the account keeps its address, confirmed or not. Raises Refused like `account_lock`.
    """
    row: EmailAddress
    with transaction.atomic():
        account_lock(user=user)
        EmailAddress.objects.filter(user=user).exclude(email__in=(user.email.lower(), email.lower())).delete()
        row, _ = EmailAddress.objects.get_or_create(user=user, email=email.lower())
        letter_write(kind=LetterKind.CONFIRM_EMAIL, email=row.email)
    return row


def email_change_end(*, user: User) -> None:
    """Take back that a person wants another address; the links that were sent there confirm nothing any more."""
    EmailAddress.objects.filter(user=user).exclude(email=user.email.lower()).delete()


def email_changed_by_organiser(*, user: User, before: User) -> None:
    """Ask for confirmation of the address that an organiser gave to an account, as for the first one.

    before: the account with its old address, which is told.
    """
    with transaction.atomic():
        if before.email_confirmed_at is not None:
            letter_write(kind=LetterKind.EMAIL_CHANGED, email=before.email)
        EmailAddress.objects.filter(user=user).delete()
        user.email_confirmed_at = None
        user.save(update_fields=["email_confirmed_at"])
        access_changed(user=user, title="An organiser has given your account another e-mail address")
        letter_write(kind=LetterKind.CONFIRM_EMAIL, email=user.email)


def email_proved(*, user: User) -> None:
    """Confirm an account's address after its owner has chosen a new password by a link sent there.

    If it was never confirmed before, another person may have opened the account with this address. What would
    still let that person in, or keep the owner of the mailbox out, goes: API tokens, every second factor with its
    recovery codes, and logins of providers. An organiser's account is known to be theirs, and the mailbox alone must
    not remove its second factor.
    """
    with transaction.atomic():
        if not user.has_mailbox:
            return
        if user.email_confirmed_at is None and not user.is_staff:
            access_end(user=user, heeds_box=False)
            Authenticator.objects.filter(user=user).delete()
            SocialAccount.objects.filter(user=user).delete()
        email_confirmed(user=user, email=user.email)


def email_address_ensure(*, user: User) -> EmailAddress:
    """Return the row of the account's own address, made where the account was made without one."""
    row: EmailAddress
    row, _ = EmailAddress.objects.get_or_create(
        user=user,
        email=user.email.lower(),
        defaults={"primary": True, "verified": user.email_confirmed_at is not None},
    )
    return row


def email_is_of_another(*, user: User, email: str) -> bool:
    """Return whether another account has this address."""
    return User.objects.exclude(pk=user.pk).filter(email__iexact=email).exists()
