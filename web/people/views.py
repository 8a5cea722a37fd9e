"""Pages of accounts: sign-up, login, password and profile."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, views
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, PasswordResetForm, SetPasswordForm
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from core.errors import Refused
from core.links import tournament_address
from core.models import InviteLink, LetterKind, User
from core.notices.letters import email_confirm, email_find, letter_write
from core.notices.selectors import choice_list
from core.people import tokens as services
from core.people.audit_log import account_record
from core.people.second_factor_selectors import second_factor_get
from core.people.services import user_create, user_update
from core.people.token_selectors import token_list
from core.tournaments.invite_links import OVER, link_find, user_create_by_link
from web.people.forms import LoginForm, ProfileForm, SignUpForm, TokenForm
from web.people.logins import login_succeeded
from web.people.quota_parts import own_quotas
from web.people.second_factor_views import ask_for_code
from web.site.forms import refuse


@sensitive_post_parameters()
def sign_up(request: HttpRequest) -> HttpResponse:
    """Create an account, log it in and redirect to the page that needed it."""
    wanted = request.POST.get("next", "") or request.GET.get("next", "")
    if not url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
        wanted = ""
    if request.user.is_authenticated:
        return redirect("web:home")
    invite = request.POST.get("invite", "") or request.GET.get("invite", "")
    link = link_find(invite, now=timezone.now()) if invite else None
    form = SignUpForm(request.POST or None, link=link)
    if request.method == "POST" and form.is_valid():
        try:
            user = _account_made(form, link)
        except Refused as refusal:
            refuse(form, refusal)
        else:
            login(request, user, backend=settings.AUTHENTICATION_BACKENDS[-1])
            invited = link.tournament if link is not None else None
            return redirect(tournament_address(invited) if invited else wanted or "web:home")
    context = {"form": form, "next": wanted, "invite": invite, "link": link, "over": OVER}
    return render(request, "web/people/sign_up.html", context)


def _account_made(form: SignUpForm, link: InviteLink | None) -> User:
    """Create the account of a valid form. Raises Refused."""
    data = form.cleaned_data
    fields = {
        "email": data["email"],
        "username": data["username"],
        "password": data["password1"],
        "team": data.get("team", ""),
        "github": data.get("github", ""),
    }
    return user_create(**fields) if link is None else user_create_by_link(link=link, now=timezone.now(), **fields)


class Login(views.LoginView):
    template_name = "web/people/login.html"
    authentication_form = LoginForm
    redirect_authenticated_user = True

    def get_success_url(self) -> str:
        """Return the wanted page, but never the login page itself: Django raises an error for that loop."""
        wanted: str = super().get_success_url()
        return self.get_default_redirect_url() if wanted.partition("?")[0] == self.request.path else wanted

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Ask people who have a second factor for its code before logging them in."""
        user = form.get_user()
        assert isinstance(user, User)
        if second_factor_get(user) is None:
            return super().form_valid(form)
        return ask_for_code(self.request, user, self.get_redirect_url())


class Logout(views.LogoutView):
    """Log out and redirect to LOGOUT_REDIRECT_URL."""


class PasswordReset(views.PasswordResetView):
    template_name = "web/people/form.html"
    success_url = reverse_lazy("web:password_reset_done")
    extra_context = {
        "title": "Reset your password",
        "lead": "The arena sends a link to the e-mail address of your account.",
        "button": "Send the link",
    }

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        # A worker looks up the account, so the answer takes equally long whether or not there is one.
        letter_write(kind=LetterKind.PASSWORD_RESET, email=form.cleaned_data["email"])
        return redirect(str(self.success_url))


class PasswordResetSent(views.PasswordResetDoneView):
    template_name = "web/people/notice.html"
    extra_context = {
        "title": "Check your e-mail",
        "lead": "If an account has this e-mail address, the arena is sending it a link to choose a new password.",
    }


class PasswordResetConfirm(views.PasswordResetConfirmView):
    template_name = "web/people/form.html"
    success_url = reverse_lazy("web:password_reset_complete")
    extra_context = {"title": "Choose a new password", "button": "Save the password"}

    def form_valid(self, form: SetPasswordForm[User]) -> HttpResponse:
        # A person who reads the account's e-mail has not guessed, so earlier wrong passwords no longer count.
        login_succeeded(self.request, form.user)
        with transaction.atomic():
            account_record(self.request, form.user, "change_password", note="By a link in an e-mail.")
            email_confirm(user=form.user)
            return super().form_valid(form)


class PasswordResetComplete(views.PasswordResetCompleteView):
    template_name = "web/people/notice.html"
    extra_context = {
        "title": "Your password is changed",
        "lead": "You are logged out everywhere and can log in with the new password.",
    }


@require_POST
@login_required
def email_send(request: HttpRequest) -> HttpResponse:
    """Send the link that confirms the account's e-mail address again."""
    assert isinstance(request.user, User)
    if request.user.must_confirm_email:
        letter_write(kind=LetterKind.CONFIRM_EMAIL, email=request.user.email)
        messages.success(request, f"The arena is sending a link to {request.user.email}.")
    return redirect("web:profile")


@never_cache
def email_confirmed(request: HttpRequest, token: str) -> HttpResponse:
    """Confirm an e-mail address by the link sent to it. GET changes nothing, because programs open links too."""
    user = email_find(token)
    if user is None:
        raise Http404("This link has expired or is incomplete. Log in and request a new link on your profile page.")
    if request.method == "POST":
        email_confirm(user=user)
    context = {"email": user.email, "is_done": not user.must_confirm_email}
    return render(request, "web/people/confirm.html", context)


class PasswordChange(views.PasswordChangeView):
    template_name = "web/people/form.html"
    success_url = reverse_lazy("web:profile")
    extra_context = {
        "title": "Change your password",
        "lead": "This logs you out everywhere else. API tokens stay valid until you revoke them.",
        "button": "Save the password",
    }

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        messages.success(self.request, "Your password is changed. You are logged out everywhere else.")
        with transaction.atomic():
            account_record(self.request, form.user, "change_password")
            return super().form_valid(form)


@login_required
def profile(request: HttpRequest) -> HttpResponse:
    """Show the profile, or save it."""
    assert isinstance(request.user, User)
    form = ProfileForm(request.POST or None, instance=request.user)
    if request.method == "POST" and form.is_valid():
        user_update(user=request.user, **form.cleaned_data)
        messages.success(request, "Your profile is saved.")
        return redirect("web:profile")
    return _profile_page(request, request.user, form=form)


@never_cache
@login_required
def token_create(request: HttpRequest) -> HttpResponse:
    """Create a token and show it on this answer only. GET, as after a login, redirects to the form."""
    if request.method != "POST":
        return _to_tokens()
    assert isinstance(request.user, User)
    form = TokenForm(request.POST)
    if form.is_valid():
        try:
            with transaction.atomic():
                row, token = services.token_create(owner=request.user, now=timezone.now(), **form.cleaned_data)
                account_record(request, request.user, "make_token", row=row)
        except Refused as refusal:
            refuse(form, refusal)
        else:
            return _profile_page(request, request.user, new_token=token)
    return _profile_page(request, request.user, token_form=form, status=422)


@login_required
def token_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revoke one of the account's tokens. GET, as after a login, redirects to the list."""
    if request.method != "POST":
        return _to_tokens()
    assert isinstance(request.user, User)
    with transaction.atomic():
        row = services.token_revoke(owner=request.user, token_id=token_id)
        if row is None:
            raise Http404("You have no such token, or it is already revoked.")
        account_record(request, request.user, "revoke_token", row=row)
    messages.success(request, "The token is revoked.")
    return redirect("web:profile")


def _to_tokens() -> HttpResponse:
    return redirect(f"{reverse('web:profile')}#tokens")


def _profile_page(
    request: HttpRequest,
    user: User,
    *,
    form: ProfileForm | None = None,
    token_form: TokenForm | None = None,
    new_token: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form or ProfileForm(instance=user),
        "tokens": token_list(user, now=timezone.now()),
        "token_form": token_form or TokenForm(),
        "new_token": new_token,
        "quotas": own_quotas(user),
        "has_second_factor": second_factor_get(user) is not None,
        "choices": choice_list(user),
    }
    return render(request, "web/people/profile.html", context, status=status)
