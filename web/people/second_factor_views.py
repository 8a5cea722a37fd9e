"""Pages of the second factor: set up, used at a login and in an open session, and removed."""

from __future__ import annotations

from typing import Any

from allauth.account.internal.decorators import login_stage_required
from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.base.views import AuthenticateView, IndexView, ReauthenticateView
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.stages import AuthenticateStage
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.views import (
    AddWebAuthnView,
    EditWebAuthnView,
    ReauthenticateWebAuthnView,
    RemoveWebAuthnView,
)
from django import forms
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.crypto import constant_time_compare
from django.utils.decorators import method_decorator
from django.utils.safestring import mark_safe

from core.errors import Refused
from core.models import AuditEntry, User
from core.people.access import account_lock
from core.people.audit_log import account_note, audit_record, operator_of
from core.people.second_factor_selectors import recovery_code_count, second_factor_missing
from web.people.adapters import SESSION_HASH
from web.people.login_views import AsksForTokens, GoesOn


# On the class, because the check of this class comes before that of django-allauth's.
@method_decorator(login_stage_required(stage=AuthenticateStage.key, redirect_urlname="account_login"), name="dispatch")
class LoginCode(AuthenticateView):
    """Ask for the second factor as the second step of a login."""

    template_name = "web/people/login_code.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        stage = request._login_stage  # type: ignore[attr-defined]  # set by the decorator of the view
        user, first = stage.login.user, request.session.get(SESSION_HASH, "")
        # The password may have changed since the first step, or the account was closed.
        if user is None or not user.is_active or not constant_time_compare(first, user.get_session_auth_hash()):
            response: HttpResponseBase = stage.abort()
            return response
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), **_kinds(self.stage.login.user)}


class CodeAgain(GoesOn, ReauthenticateView):
    """Ask for a code in an open session."""

    template_name = "web/people/again.html"
    extra_context = {"title": "Show that it is you", "button": "Go on"}


class PasskeyAgain(GoesOn, ReauthenticateWebAuthnView):
    """Ask for a passkey in an open session."""

    template_name = "web/people/passkey_again.html"


class SecondFactor(IndexView):
    """Show the factors of an account, and what can be done with them."""

    template_name = "web/people/second_factor.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = self.request.user
        assert isinstance(user, User)
        values = {"code_count": recovery_code_count(user), "is_missing": second_factor_missing(self.request)}
        return {**super().get_context_data(**kwargs), **values, **_kinds(user)}


class Written(AsksForTokens):
    """A page that changes the second factor, and notes it in the audit log."""

    action: str

    def form_valid(self, form: forms.Form) -> HttpResponse:
        try:
            with transaction.atomic():
                # A session that another request has ended meanwhile changes no factor.
                account_lock(user=self.user)
                response: HttpResponse = super().form_valid(form)  # type: ignore[misc]  # of the view beside it
                operator = operator_of(self.request, AuditEntry.Channel.SITE)
                audit_record(operator=operator, action=self.action, row=self.user)
                account_note(self.request, self.user, self.action)
                return response
        except Refused as refused:
            form.add_error(None, str(refused))
            return self.form_invalid(form)  # type: ignore[attr-defined]  # of the view beside it

    @property
    def user(self) -> User:
        assert isinstance(self.request.user, User)
        return self.request.user


class Added(Written):
    """A page that adds a factor: this session has shown it."""

    kind: Authenticator.Type

    def form_valid(self, form: forms.Form) -> HttpResponse:
        response = super().form_valid(form)
        if form.errors:
            return response
        latest = Authenticator.objects.filter(user=self.user, type=self.kind).latest("pk")
        record_authentication(self.request, self.user, "mfa", id=latest.pk, type=latest.type)
        return response


class AppAdd(Added, ActivateTOTPView):
    """Set up an app that gives codes."""

    template_name = "web/people/app_add.html"
    action, kind = "set_up_second_factor", Authenticator.Type.TOTP

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        secret: str = context["form"].secret
        # In groups of four letters, for people who have no camera.
        key = " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))
        return {**context, "key": key, "picture": mark_safe(context["totp_svg"])}  # noqa: S308  (squares)


class AppRemove(Written, DeactivateTOTPView):
    template_name = "web/people/form.html"
    action = "remove_second_factor"
    extra_context = {
        "title": "Remove your app",
        "lead": "Its codes no longer open your account. Without a passkey, your password alone does.",
        "button": "Remove it",
        "is_danger": True,
    }


class PasskeyAdd(Added, AddWebAuthnView):
    """Add a passkey."""

    template_name = "web/people/passkey_add.html"
    action, kind = "add_passkey", Authenticator.Type.WEBAUTHN

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        # django-allauth leaves the form of a refused request out.
        return {"form": self.get_form(), **super().get_context_data(**kwargs), **kwargs}


class PasskeyRename(Written, EditWebAuthnView):
    template_name = "web/people/form.html"
    action = "rename_passkey"
    extra_context = {"title": "Rename the passkey", "button": "Save", "token_count": 0}


class PasskeyRemove(Written, RemoveWebAuthnView):
    template_name = "web/people/form.html"
    action = "remove_passkey"
    extra_context = {
        "title": "Remove the passkey",
        "lead": "It no longer opens your account. Delete it on the device too.",
        "button": "Remove it",
        "is_danger": True,
    }


class RecoveryCodes(ViewRecoveryCodesView):
    """Show new recovery codes, once."""

    template_name = "web/people/recovery_codes.html"


class RecoveryCodesRenew(Written, GenerateRecoveryCodesView):
    template_name = "web/people/form.html"
    action = "renew_recovery_codes"
    extra_context = {
        "title": "New recovery codes",
        "lead": "The recovery codes that you have no longer work then.",
        "button": "Show me new codes",
    }


def _kinds(user: User) -> dict[str, bool]:
    """Return which factors an account has."""
    kinds = set(Authenticator.objects.filter(user=user).values_list("type", flat=True))
    return {"has_app": Authenticator.Type.TOTP in kinds, "has_passkey": Authenticator.Type.WEBAUTHN in kinds}
