"""One rule for whatever changes who can log in: other sessions end, API tokens are revoked, and the owner is told.

Rows of second factors and of providers bring it about by themselves, whatever makes or deletes them. Passwords, e-mail
addresses, bans and their lifting call `access_changed` or `access_end`; `web/people/tests/test_ways_in.py` lists all.
"""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from allauth.account.signals import password_changed, password_reset, password_set
from allauth.core import context
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp
from allauth.usersessions.models import UserSession
from django.contrib.auth import SESSION_KEY, update_session_auth_hash
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import F
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.http import HttpRequest

from core.errors import Refused
from core.links import page
from core.models import ApiToken, NoticeKind, User
from core.notices.services import notify
from core.people.second_factor_selectors import has_second_factor
from core.people.sessions import session_note

BY_ORGANISER = "An organiser did this; ask them if you wonder why."
ADVICE = "If it was not you, choose a new password at once, look at your passkeys and tokens, and tell the organisers."
FACTORS = {Authenticator.Type.TOTP: "An authenticator app", Authenticator.Type.WEBAUTHN: "A passkey"}
"""Recovery codes come and go with these; only new ones are told of."""
KEEP = "keep_tokens"
"""The box of forms with which an owner keeps the API tokens, and its place in a session on the way to a provider."""


def access_changed(*, user: User, title: str, keeps_tokens: bool = False) -> None:
    """End what could still be open to another person, and tell the owner. title: a sentence without its full stop."""
    with transaction.atomic():
        count = access_end(user=user, keeps_tokens=keeps_tokens)
        tokens = f" Your API tokens ({count}) are revoked." if count else ""
        access_told(
            user=user, title=title, text=f"{title}. You are logged out everywhere else.{tokens} {_advice(user)}"
        )


def access_end(*, user: User, keeps_tokens: bool = False, heeds_box: bool = True) -> int:
    """End the sessions of an account except that of its owner's request, and revoke its tokens; return how many.

    Another address that was asked for and not confirmed is forgotten: a thief may have asked for it.

    A session that another request has ended meanwhile stays ended. keeps_tokens: also true if the owner ticks the box
    KEEP of the form, unless `heeds_box` is false.
    """
    request: HttpRequest | None = context.request
    with transaction.atomic():
        row = User.objects.select_for_update(no_key=True).only("session_epoch", "email").get(pk=user.pk)
        is_own = (
            request is not None
            and isinstance(request.user, User)
            and (request.user.pk, request.user.session_epoch) == (row.pk, row.session_epoch)
            and SESSION_KEY in request.session
        )
        User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
        user.refresh_from_db(fields=["session_epoch"])
        UserSession.objects.filter(user=user).delete()
        EmailAddress.objects.filter(user=user, verified=False).exclude(email=row.email.lower()).delete()
        is_asked = request is not None and (is_own or request.user.is_anonymous)
        if request is not None and is_own:
            assert isinstance(request.user, User)
            request.user.session_epoch = user.session_epoch
            update_session_auth_hash(request, user)
            session_note(request, user)
        if keeps_tokens or (heeds_box and request is not None and is_asked and request.POST.get(KEEP)):
            return 0
        return ApiToken.objects.filter(owner=user).delete()[0]


def password_write(*, user: User, password: str) -> None:
    """Give an account another password, and write nothing else of its row. Raises Refused like `account_lock`."""
    hashed = make_password(password)
    with transaction.atomic():
        account_lock(user=user)
        User.objects.filter(pk=user.pk).update(password=hashed)
        user.password = hashed


def account_lock(*, user: User) -> None:
    """Lock an account's row until the transaction ends.

    Raises Refused when it was closed, or its sessions were ended, after `user` was read.
    """
    row = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if not row.is_active or row.session_epoch != user.session_epoch:
        raise Refused("Your account has changed in the meantime. Log in again, then try once more.")


def access_told(*, user: User, title: str, text: str = "", address: str = "") -> None:
    """Tell an account's owner what happened to it. title: a sentence without its full stop. address: of a page."""
    text = text or f"{title}. {_advice(user)}"
    notify(user=user, kind=NoticeKind.ACCESS, title=title, text=text, address=address or page("sessions"))


def _advice(user: User) -> str:
    """Return what an owner should do about a change: nothing, or ask, when another person has logged in and made it."""
    request: HttpRequest | None = context.request
    by = request.user if request is not None else None
    return BY_ORGANISER if isinstance(by, User) and by.pk != user.pk else ADVICE


@receiver((password_changed, password_set, password_reset))
def _on_password(user: User, **_: object) -> None:
    # The first password of an account that organisers have made is no news to its owner.
    if user.last_login is None:
        access_end(user=user)
    else:
        access_changed(user=user, title="Your password was changed")


@receiver(post_save, sender=Authenticator)
def _on_factor(instance: Authenticator, created: bool, **_: object) -> None:
    if created and (name := FACTORS.get(instance.type)):
        access_changed(user=instance.user, title=f"{name} was added to your account")


@receiver(post_delete, sender=Authenticator)
def _on_no_factor(instance: Authenticator, origin: Any, **_: object) -> None:
    if _is_of_account(origin):
        return
    if name := FACTORS.get(instance.type):
        access_changed(user=instance.user, title=f"{name} was removed from your account")
    elif has_second_factor(instance.user):
        # Otherwise the codes go with the last factor.
        access_changed(user=instance.user, title="New recovery codes were made for your account")


@receiver(post_save, sender=SocialAccount)
def _on_provider(instance: SocialAccount, created: bool, **_: object) -> None:
    # The provider with which an account is opened is no news to its owner.
    if created and instance.user.last_login is not None:
        keeps = context.request is not None and context.request.session.pop(KEEP, False)
        title = f"Your account can be opened with {_provider(instance)}"
        access_changed(user=instance.user, title=title, keeps_tokens=keeps)


@receiver(post_delete, sender=SocialAccount)
def _on_no_provider(instance: SocialAccount, origin: Any, **_: object) -> None:
    if not _is_of_account(origin):
        title = f"Your account can no longer be opened with {_provider(instance)}"
        access_changed(user=instance.user, title=title)


def _is_of_account(origin: Any) -> bool:
    """Return whether a row is deleted because its whole account is. origin: what Django was asked to delete."""
    return getattr(origin, "model", type(origin)) is User


def _provider(row: SocialAccount) -> str:
    try:
        return str(row.get_provider().name)
    except SocialApp.DoesNotExist:
        # It is not in LOGIN_PROVIDERS any more.
        return str(row.provider)
