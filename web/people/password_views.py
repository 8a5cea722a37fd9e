"""Pages about passwords and about showing again who one is."""

from __future__ import annotations

from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from allauth.account.utils import user_pk_to_url_str
from allauth.account.views import (
    PasswordChangeView,
    PasswordResetDoneView,
    PasswordResetFromKeyDoneView,
    PasswordResetFromKeyView,
    PasswordResetView,
    PasswordSetView,
    ReauthenticateView,
)
from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import FormView

from core.errors import Refused
from core.models import ApiToken, User
from core.people.access import account_lock
from core.people.audit_log import account_log, account_record
from core.people.emails import email_proved
from web.people.forms import FirstLoginForm
from web.people.login_views import AsksForTokens, GoesOn, HidesForm
from web.site.logins import login_succeeded


class PasswordReset(PasswordResetView):
    template_name = "web/people/form.html"
    extra_context = {
        "title": "Reset your password",
        "lead": "The arena sends a link to the e-mail address of your account.",
        "button": "Send the link",
    }

    def form_valid(self, form: forms.Form) -> HttpResponse:
        # Without the account: looking it up would take a time that tells whether there is one.
        account_log(self.request, None, "ask_for_link")
        return super().form_valid(form)


class FirstLogin(HidesForm, FormView):  # type: ignore[type-arg]  # at run time it takes no argument
    """Lead people without an e-mail, who were given a code on paper, to the page on which a password is chosen."""

    form_class = FirstLoginForm
    template_name = "web/people/form.html"
    extra_context = {
        "title": "Your first login",
        "lead": "With the user name and the code that you were given on paper.",
        "button": "Go on",
    }

    def form_valid(self, form: FirstLoginForm) -> HttpResponse:
        token = app_settings.PASSWORD_RESET_TOKEN_GENERATOR().make_token(form.user)
        return redirect("account_reset_password_from_key", user_pk_to_url_str(form.user), token)


class PasswordResetSent(PasswordResetDoneView):
    template_name = "web/people/notice.html"
    extra_context = {
        "title": "Check your e-mail",
        "lead": "If an account has this e-mail address, the arena is sending it a link to choose a new password.",
        "is_mailed": True,
    }


@method_decorator(never_cache, name="dispatch")
class PasswordResetConfirm(AsksForTokens, PasswordResetFromKeyView):
    template_name = "web/people/form.html"
    extra_context = {"title": "Choose a new password", "button": "Save the password"}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        count = (
            ApiToken.objects.filter(owner=self.reset_user).count()
            if self.reset_user and not context["token_count"]
            else 0
        )
        revoked = f" It also revokes your API tokens ({count}): programs with them are refused." if count else ""
        if self.reset_user and not self.reset_user.has_usable_password():
            return {**context, "title": "Choose a password", "lead": f"Your user name is {self.reset_user}."}
        return {"lead": f"This logs you out everywhere.{revoked}", **context}

    def form_valid(self, form: forms.Form) -> HttpResponse:
        user, by_code = self.reset_user, not self.reset_user.has_mailbox
        tokens = ApiToken.objects.filter(owner=user)
        before = tokens.count()
        # A person who reads the account's e-mail has not guessed, so earlier wrong passwords no longer count.
        login_succeeded(self.request, user)
        try:
            with transaction.atomic():
                account_lock(user=user)
                account_record(
                    self.request,
                    user,
                    "change_password",
                    note="By a link in an e-mail." if user.has_mailbox else "By a code on paper.",
                )
                email_proved(user=user)
                user.refresh_from_db(fields=["session_epoch"])
                response: HttpResponse = super().form_valid(form)
            if revoked := before - tokens.count():
                messages.info(
                    self.request, f"Your API tokens ({revoked}) are revoked. Create new ones on your profile."
                )
            # A code on paper was typed in by the person: they need not show twice who they are.
            login = Login(user=user, redirect_url=reverse("web:home"))
            return perform_password_login(self.request, {"username": user.username}, login) if by_code else response
        except Refused as refused:
            form.add_error(None, str(refused))
            return self.form_invalid(form)


class PasswordResetComplete(PasswordResetFromKeyDoneView):
    template_name = "web/people/notice.html"
    extra_context = {
        "title": "Your password is changed",
        "lead": "You can log in with it now.",
    }


class PasswordWritten(AsksForTokens, HidesForm):
    """A page that changes a password, and notes it in the audit log of organisers."""

    def form_valid(self, form: forms.Form) -> HttpResponse:
        assert isinstance(self.request.user, User)
        try:
            with transaction.atomic():
                account_record(self.request, self.request.user, "change_password")
                return super().form_valid(form)  # type: ignore[misc]  # of the view beside it
        except Refused as refused:
            form.add_error(None, str(refused))
            return self.form_invalid(form)  # type: ignore[attr-defined]  # of the view beside it


class PasswordChange(PasswordWritten, PasswordChangeView):
    template_name = "web/people/form.html"
    extra_context = {
        "title": "Change your password",
        "lead": "This logs you out everywhere else.",
        "button": "Save the password",
    }


class PasswordSet(PasswordWritten, PasswordSetView):
    template_name = "web/people/form.html"
    extra_context = {
        "title": "Set a password",
        "lead": "You can then log in with your e-mail address and this password as well.",
        "button": "Save the password",
    }

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # django-allauth would keep the form, with the password, in the session until the person has shown who they are.
        is_sent = request.method == "POST" and request.user.is_authenticated
        if is_sent and get_adapter().is_reauthentication_required(app="allauth.account"):
            return redirect("account_set_password")
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return response


class Reauthenticate(GoesOn, ReauthenticateView):
    template_name = "web/people/again.html"
    extra_context = {"title": "Show that it is you", "button": "Go on"}

    def form_valid(self, form: forms.Form) -> HttpResponse:
        assert isinstance(self.request.user, User)
        login_succeeded(self.request, self.request.user)
        return super().form_valid(form)
