"""Tells people that the ways to log in to their account have changed, so that a change by another person is noticed."""

from __future__ import annotations

from allauth.account.signals import password_changed, password_reset, password_set
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from allauth.socialaccount.signals import social_account_added, social_account_removed
from django.dispatch import receiver

from core.links import page
from core.models import NoticeKind, User
from core.notices.services import notify

ADVICE = "If it was not you, choose a new password at once, look at your passkeys and tokens, and tell the organisers."
FACTORS = {Authenticator.Type.TOTP: "An authenticator app", Authenticator.Type.WEBAUTHN: "A passkey"}
"""Recovery codes come and go with these; only new ones are told of."""


def access_changed(*, user: User, title: str) -> None:
    """Tell an account's owner of a change. title: a sentence without its full stop."""
    notify(user=user, kind=NoticeKind.ACCESS, title=title, text=f"{title}. {ADVICE}", address=page("profile"))


@receiver((password_changed, password_set, password_reset))
def _on_password(user: User, **_: object) -> None:
    # The first password of an account that organisers have made is no news to its owner.
    if user.last_login is not None:
        access_changed(user=user, title="Your password was changed")


@receiver(authenticator_added)
def _on_factor(user: User, authenticator: Authenticator, **_: object) -> None:
    if name := FACTORS.get(authenticator.type):
        access_changed(user=user, title=f"{name} was added to your account")


@receiver(authenticator_removed)
def _on_no_factor(user: User, authenticator: Authenticator, **_: object) -> None:
    if name := FACTORS.get(authenticator.type):
        access_changed(user=user, title=f"{name} was removed from your account")


@receiver(authenticator_reset)
def _on_new_codes(user: User, authenticator: Authenticator, **_: object) -> None:
    access_changed(user=user, title="New recovery codes were made for your account")


@receiver(social_account_added)
def _on_provider(sociallogin: SocialLogin, **_: object) -> None:
    row = sociallogin.account
    access_changed(user=row.user, title=f"Your account can be opened with {_provider(row)}")


@receiver(social_account_removed)
def _on_no_provider(socialaccount: SocialAccount, **_: object) -> None:
    title = f"Your account can no longer be opened with {_provider(socialaccount)}"
    access_changed(user=socialaccount.user, title=title)


def _provider(row: SocialAccount) -> str:
    try:
        return str(row.get_provider().name)
    except SocialApp.DoesNotExist:
        # It is not in LOGIN_PROVIDERS any more.
        return str(row.provider)
