"""The profile: what a person shows, and API tokens."""

from __future__ import annotations

from allauth.socialaccount.adapter import get_adapter
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from core.errors import Refused
from core.models import User
from core.notices.selectors import choice_list
from core.people import tokens as services
from core.people.audit_log import account_record
from core.people.second_factor_selectors import has_second_factor
from core.people.services import user_update
from core.people.tokens import token_list
from core.submissions.selectors import user_agent_list
from web.people.forms import ProfileForm, TokenForm
from web.people.quota_parts import own_quotas
from web.site.forms import refuse

AGENTS_A_PAGE = 50


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
        "has_second_factor": has_second_factor(user),
        "choices": choice_list(user),
        "has_providers": bool(get_adapter().list_apps(request)),
    }
    return render(request, "web/people/profile.html", context, status=status)


def user(request: HttpRequest, username: str) -> HttpResponse:
    """Show a person's public page, in pages: one account owns all anonymous agents, which may be many."""
    person = get_object_or_404(User, username__iexact=username, is_active=True)
    page = Paginator(person.agents.order_by("pk"), AGENTS_A_PAGE).get_page(request.GET.get("page"))
    agents = user_agent_list(person, offset=max(0, page.start_index() - 1), limit=AGENTS_A_PAGE)
    return render(request, "web/people/user.html", {"person": person, "agents": agents, "page": page})
