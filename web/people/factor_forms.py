"""Forms for the second factor: codes and passkeys."""

from __future__ import annotations

from typing import Any

from allauth.core import context
from allauth.mfa.base.internal.flows import post_authentication
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm, EditWebAuthnForm
from django import forms
from django.core.exceptions import ValidationError

from core.errors import Refused
from core.models import User
from core.people.audit_log import account_record
from core.people.second_factor import second_factor_check

NAME_LIMIT = 50


class CodeForm(forms.Form):
    """Enter a code of the second factor, or a recovery code, as the second step of a login."""

    code = forms.CharField(
        max_length=32,
        help_text="The six digits that your authenticator app shows, or one of your recovery codes.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True, "inputmode": "text"}),
    )
    is_again = False

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        try:
            self.authenticator: Authenticator = second_factor_check(user=self.user, code=code)
        except Refused as refusal:
            account_record(
                context.request, self.user, "log_in_failed", note="Wrong code.", method="code", is_known=False
            )
            raise ValidationError(str(refusal)) from None
        return code

    def save(self) -> None:
        self.authenticator.user = self.user
        post_authentication(context.request, self.authenticator, reauthenticated=self.is_again)


class CodeAgainForm(CodeForm):
    """Show again, in an open session, that the second factor is yours."""

    is_again = True


class FirstCodeForm(ActivateTOTPForm):
    """Enter the first code of a new app."""

    code = forms.CharField(
        max_length=32,
        help_text="The six digits that your authenticator app shows.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric"}),
    )


class PasskeyForm(AddWebAuthnForm):
    """Add a passkey. passwordless: it opens the account without the password."""

    name = forms.CharField(max_length=NAME_LIMIT, required=False, help_text="Where it is, such as your phone.")
    passwordless = forms.BooleanField(
        label="Log in without the password",
        required=False,
        initial=True,
        help_text="The device then checks that it is you, by a PIN, a finger or your face. A security key without "
        "that is a second step only.",
    )


class PasskeyNameForm(EditWebAuthnForm):
    """Rename a passkey."""

    name = forms.CharField(max_length=NAME_LIMIT)
