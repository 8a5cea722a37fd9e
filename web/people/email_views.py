"""Pages about e-mail addresses: confirmed by their links, and changed."""

from __future__ import annotations

from typing import Any

from allauth.account import app_settings
from allauth.account.models import EmailAddress
from allauth.account.utils import get_next_redirect_url
from allauth.account.views import ConfirmEmailView, EmailView
from django import forms
from django.contrib import messages
from django.core import signing
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect

from core.errors import Refused
from core.models import User
from core.people.audit_log import account_record
from core.people.emails import email_address_ensure, email_change_end
from web.people.login_views import AsksForTokens
from web.site.context_processors import CONFIRM_LATER


class EmailConfirm(AsksForTokens, ConfirmEmailView):
    """Confirm an e-mail address by the link sent to it. GET changes nothing, because programs open links too."""

    template_name = "web/people/confirm.html"

    def render_to_response(self, context: dict[str, Any], **names: Any) -> HttpResponse:
        if context["confirmation"] is None and is_done(self.kwargs["key"]):
            messages.success(self.request, "Your e-mail address is confirmed.")
            return redirect("web:home" if self.request.user.is_authenticated else "account_login")
        if context["confirmation"] is None:
            raise Http404("This link has expired or was used. Log in and request a new link on your profile page.")
        return super().render_to_response(context, **names)


def is_done(key: str) -> bool:
    """Return whether the address that a link confirms is already the confirmed address of its account."""
    try:
        row = EmailAddress.objects.get(pk=signing.loads(key, salt=app_settings.SALT), verified=True)
    except (signing.BadSignature, EmailAddress.DoesNotExist):
        return False
    return row.user.is_active and row.user.email_confirmed_at is not None and row.email == row.user.email.lower()


class Email(EmailView):
    """Ask for another e-mail address, or for the link that confirms one again."""

    template_name = "web/people/email.html"
    # Django's forms take PUT for POST, and django-allauth answers one without an action by a redirect.
    http_method_names = ["get", "post", "head", "options"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if isinstance(request.user, User):
            email_address_ensure(user=request.user)
        return super().dispatch(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "action_later" in request.POST:
            request.session[CONFIRM_LATER] = True
            return redirect(get_next_redirect_url(request) or "web:home")
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response

    def form_valid(self, form: forms.Form) -> HttpResponse:
        assert isinstance(self.request.user, User)
        try:
            with transaction.atomic():
                account_record(self.request, self.request.user, "change_email", note="Not confirmed yet.")
                return super().form_valid(form)
        except Refused as refused:
            form.add_error(None, str(refused))
            return self.form_invalid(form)

    # django-allauth removes and chooses addresses too. Of an account that has confirmed none it would take one that is
    # not confirmed, or leave the account without any.
    def _action_remove(self, request: HttpRequest) -> None:
        assert isinstance(request.user, User)
        email_change_end(user=request.user)

    def _action_primary(self, request: HttpRequest) -> None:
        """Change nothing: an address becomes the account's when its link is opened, and in no other way."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = self.request.user
        assert isinstance(user, User)
        new = EmailAddress.objects.filter(user=user, verified=False).exclude(email=user.email.lower()).first()
        return {**super().get_context_data(**kwargs), "new": new}
