"""The answers of this site to django-allauth: who may log in and sign up, what is mailed, and how codes look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import segno
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, _build_apps_from_settings
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from core.addresses import client_address
from core.errors import Refused
from core.models import LetterKind, User
from core.notices.letters import letter_write
from core.people.audit_log import account_record
from core.people.emails import email_confirmed
from core.people.second_factor_selectors import has_second_factor
from core.people.services import user_authenticate
from core.sealing import opened, seal
from web.site.logins import account_named, is_locked_here, locked_out

if TYPE_CHECKING:
    from allauth.account.models import EmailAddress
    from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin

SESSION_HASH = "account_login_hash"
"""In a session that still has to show a second factor: the session hash of the account at the first step."""
UNKNOWN_ADDRESS = "0.0.0.0"
AGAIN = "Log out and log in again. You can do this within 15 minutes of logging in."
SENTENCES = {
    "account/messages/email_confirmed.txt": "Your e-mail address is confirmed.",
    "account/messages/email_confirmation_sent.txt": "The arena is sending a link to {email}.",
    "account/messages/password_changed.txt": "Your new password is set. All other logins have ended.",
    "account/messages/password_set.txt": "Your password is set.",
    "mfa/messages/totp_deactivated.txt": "Your app is removed.",
    "mfa/messages/webauthn_removed.txt": "The passkey is removed.",
    "socialaccount/messages/account_connected.txt": "You can now log in with this provider.",
    "socialaccount/messages/account_connected_updated.txt": "You can log in with this provider.",
    "socialaccount/messages/account_connected_other.txt": "This login opens another account of the arena already.",
}
"""The site's sentences for the reports of django-allauth; it reports nothing else."""


class AccountAdapter(DefaultAccountAdapter):
    """Accounts: logging in, e-mail addresses and messages."""

    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "duplicate_email": "This is your address already.",
        "email_taken": "There is already an account with this e-mail.",
        "incorrect_password": "This is not your password.",
        "same_as_current": "This is your address already.",
    }

    def pre_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse | None:
        """Refuse closed and locked accounts, whatever shows that the person may log in."""
        if is_locked_here(account_named(request, {"username": user.email}), request):
            raise ImmediateHttpResponse(locked_out(request, {"username": user.email}))
        # Another person may have prepared the session.
        request.session.cycle_key()
        request.session[SESSION_HASH] = user.get_session_auth_hash()
        return super().pre_login(request, user, **kwargs)

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        said = (
            f"The organisers closed this account: {user.ban_reason}" if user.ban_reason else "This account is closed."
        )
        context = {"title": "You cannot log in", "sentence": said}
        return render(request, "web/site/refusal.html", context, status=403)

    def reauthenticate(self, user: User, password: str) -> bool:
        return user_authenticate(request=self.request, email=user.email, password=password) == user

    def get_reauthentication_methods(self, user: User) -> list[dict[str, Any]]:
        """Return how a person shows again who they are: by the second factor where there is one, else the password."""
        found: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        by_factor = [method for method in found if method["id"].startswith("mfa_")]
        found = by_factor if has_second_factor(user) else found
        if not found:
            raise PermissionDenied(AGAIN)
        return found

    def is_reauthentication_required(self, *, app: str, **_: Any) -> bool:
        """Return whether this session logged in, or showed again who it is, too long ago."""
        records = get_authentication_records(self.request, self.request.user)
        if has_second_factor(self.request.user):
            records = [record for record in records if record.get("method") == "mfa"]
        latest = max((record["at"] for record in records), default=0)
        return bool(timezone.now().timestamp() - latest > settings.ACCOUNT_REAUTHENTICATION_TIMEOUT)

    def should_send_confirmation_mail(self, request: HttpRequest, email_address: EmailAddress, signup: bool) -> bool:
        return not signup  # creating the account has written that letter

    def send_confirmation_mail(self, request: HttpRequest, emailconfirmation: Any, signup: bool) -> None:
        letter_write(kind=LetterKind.CONFIRM_EMAIL, email=emailconfirmation.email_address.email)

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        """Confirm an address, unless another account has it by now."""
        user = email_address.user
        try:
            with transaction.atomic():
                if not user.is_active:
                    raise Refused("This account is closed.")
                account_record(request, user, "change_email", note="Confirmed by the link that was sent there.")
                email_confirmed(user=user, email=email_address.email)
        except Refused as refusal:
            messages.error(request, str(refusal))
            return False
        self.add_message(request, messages.SUCCESS, "account/messages/email_confirmed.txt")
        return True

    def get_email_verification_redirect_url(self, email_address: EmailAddress) -> str:
        return reverse("web:profile") if self.request.user.is_authenticated else reverse("account_login")

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("web:profile")

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request.META) or UNKNOWN_ADDRESS

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        said = message or SENTENCES.get(message_template or "", "")
        if said:
            messages.add_message(request, level, said.format(**message_context or {}), extra_tags=extra_tags)


class FactorAdapter(DefaultMFAAdapter):
    """Second factors: their names, and the picture that an app scans."""

    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": "This was not accepted. Please try again.",
    }

    def build_totp_svg(self, url: str) -> str:
        """Return the QR code that the app scans, as SVG without styles."""
        picture = segno.make(url, error="m", micro=False)
        return picture.svg_inline(border=4, omitsize=True, light="#fff", svgclass="qr")

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:  # noqa: A002  (its name)
        count = Authenticator.objects.filter(user=user, type=type).count()
        return f"Passkey {count + 1}"

    def encrypt(self, text: str) -> str:
        """Return the secret of an app, or the seed of recovery codes, as it is stored."""
        return seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        return opened(encrypted_text)

    def _get_site_name(self) -> str:
        return str(settings.SITE_NAME)


class ProviderAdapter(DefaultSocialAccountAdapter):
    """Providers that people log in with: GitHub and OpenID Connect."""

    error_messages = {
        **DefaultSocialAccountAdapter.error_messages,
        "no_password": "Set a password first: nothing else would open your account.",
        "connected_other": SENTENCES["socialaccount/messages/account_connected_other.txt"],
    }

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        """Return the providers of LOGIN_PROVIDERS; no row of the database adds one."""
        found = _build_apps_from_settings(provider=provider, client_id=client_id)
        return [app for apps in found.values() for app in apps]

    def get_signup_form_initial_data(self, sociallogin: SocialLogin) -> dict[str, str]:
        initial: dict[str, str] = super().get_signup_form_initial_data(sociallogin)
        if sociallogin.account.provider == "github":
            initial["github"] = initial["username"]
        return initial

    def validate_disconnect(self, account: SocialAccount, accounts: Any) -> None:
        """Refuse it if a person without a password would keep only providers that the arena no longer knows."""
        known = {app.provider_id or app.provider for app in self.list_apps(self.request)}
        others = accounts.exclude(pk=account.pk).filter(provider__in=known)
        if not account.user.has_usable_password() and not others.exists():
            raise self.validation_error("no_password")
