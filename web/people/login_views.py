"""Pages that log in and sign up: by password, passkey and provider."""

from __future__ import annotations

from typing import Any

from allauth.account.utils import get_next_redirect_url
from allauth.account.views import LoginView, LogoutView, SignupView
from allauth.mfa.webauthn.views import LoginWebAuthnView
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.views import SignupView as ProviderSignUpView
from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils import timezone

from core.errors import Refused
from core.links import tournament_address
from core.models import ApiToken, User
from core.people.access import KEEP
from core.tournaments.invite_links import OVER, link_accept, link_find
from web.site.forms import refuse

INVITE = "invite"
"""In a session: the token of the invitation link that led here."""


class HidesForm:
    """A page of whose form nothing is in a mail about an error; django-allauth's own list leaves some secrets out."""

    request: HttpRequest

    def post(self, *args: Any, **kwargs: Any) -> HttpResponse:
        self.request.sensitive_post_parameters = "__ALL__"  # type: ignore[attr-defined]  # Django's reporter reads it
        return super().post(*args, **kwargs)  # type: ignore[misc]  # of the view beside it


class SaysRefusal(HidesForm):
    """A form's page on which the refusal of a service stands at the field that it is about."""

    def form_valid(self, form: forms.Form) -> HttpResponse:
        try:
            return super().form_valid(form)  # type: ignore[misc]  # of the view beside it
        except Refused as refusal:
            refuse(form, refusal)
            return self.form_invalid(form)  # type: ignore[attr-defined]


class AsksForTokens:
    """A page that changes who can log in: its form has a box with which the owner keeps the API tokens."""

    request: HttpRequest

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        reset: User | None = getattr(self, "reset_user", None)
        # Tokens of an account whose address was never confirmed may be another person's, and go in any case.
        may_keep = reset is None or reset.is_staff or reset.email_confirmed_at is not None
        owner = reset or self.request.user
        count = ApiToken.objects.filter(owner=owner.pk).count() if may_keep else 0
        return {"keep": KEEP, "token_count": count, **super().get_context_data(**kwargs)}  # type: ignore[misc]


class GoesOn:
    """A page whose form leads on to the page that needed it: `next`, empty for an address of another site."""

    request: HttpRequest

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]
        return {**context, "next": get_next_redirect_url(self.request) or ""}


class WithProviders(GoesOn):
    """A page that offers to log in with a provider."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        providers = get_adapter().list_providers(self.request)
        offered = [(row.name, row.get_login_url(self.request)) for row in providers]
        return {**super().get_context_data(**kwargs), "providers": offered}


class ByInviteLink:
    """A page that creates an account, perhaps by the link of an invitation. The session knows the link meanwhile."""

    request: HttpRequest

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.invite: str = request.POST.get("invite") or request.GET.get("invite") or request.session.get(INVITE, "")
        self.link = link_find(self.invite, now=timezone.now()) if self.invite else None
        # Nothing else is kept: strangers could fill the sessions, and a link that is over would be named for weeks.
        if self.link is not None:
            request.session[INVITE] = self.invite
        else:
            request.session.pop(INVITE, None)
        return super().dispatch(request, *args, **kwargs)  # type: ignore[misc]  # of the view beside it

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "link": self.link}  # type: ignore[misc]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]
        return {**context, "invite": self.invite, "link": self.link, "over": OVER}

    def form_valid(self, form: forms.Form) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        if not form.errors:
            self.request.session.pop(INVITE, None)
        return response

    def get_success_url(self) -> str:
        """Return the page of the tournament that the link invites to, or else the wanted page."""
        if self.link is not None and self.link.tournament is not None:
            return tournament_address(self.link.tournament)
        wanted: str = super().get_success_url()  # type: ignore[misc]
        return wanted


class SignUp(ByInviteLink, SaysRefusal, WithProviders, SignupView):
    """Create an account, log it in and redirect to the page that needed it."""

    template_name = "web/people/sign_up.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated and (token := request.GET.get("invite")):
            return invitation(request, token)
        return super().dispatch(request, *args, **kwargs)


class ProviderSignUp(ByInviteLink, SaysRefusal, ProviderSignUpView):
    """Create an account for a person whom a provider has named."""

    template_name = "web/people/provider_sign_up.html"

    def form_valid(self, form: forms.Form) -> HttpResponse:
        waiting = self.request.session.get("socialaccount_sociallogin")
        response = super().form_valid(form)
        if form.errors:
            # So that the form can be sent again.
            self.request.session["socialaccount_sociallogin"] = waiting
        return response


class Login(HidesForm, WithProviders, LoginView):
    """Log in by password."""

    template_name = "web/people/login.html"

    def get_success_url(self) -> str | None:
        """Return the wanted page, but never the login page itself, which would redirect to itself for ever."""
        wanted: str | None = super().get_success_url()
        if wanted and wanted.partition("?")[0] == self.request.path:
            return resolve_url("web:home")
        return wanted

    def get_authenticated_redirect_url(self) -> str:
        return self.get_success_url() or resolve_url("web:home")


class PasskeyLogin(LoginWebAuthnView):
    """Log in by a passkey alone."""


class Logout(LogoutView):
    """Log out, also of a login that waits for its second step."""

    http_method_names = ["post", "options"]


def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Invite a person who has an account to the tournament of a link, once the person says so."""
    assert isinstance(request.user, User)
    now = timezone.now()
    link = link_find(token, now=now)
    if link is None or link.tournament is None:
        messages.info(request, OVER if link is None else "This link creates accounts. You have one already.")
        return redirect("web:home")
    form = forms.Form()
    if request.method == "POST":
        try:
            link_accept(link=link, user=request.user, now=now)
        except Refused as refusal:
            messages.error(request, str(refusal))
        return redirect(tournament_address(link.tournament))
    lead = f"{link.name}. You can take part with the account {request.user.username}, in which you are logged in."
    context = {"title": f"You are invited to {link.tournament}", "lead": lead, "button": "Accept", "form": form}
    return render(request, "web/people/form.html", context)
