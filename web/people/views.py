"""The profile: what a person shows."""

from __future__ import annotations

from allauth.socialaccount.adapter import get_adapter
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from core.courses.teams import team_parts
from core.models import User
from core.notices.selectors import choice_list
from core.people.audit_log import sender_of
from core.people.second_factor_selectors import has_second_factor
from core.people.services import user_update
from core.submissions.selectors import user_agent_list, user_agent_rows
from web.people.forms import ProfileForm
from web.people.quota_parts import own_quotas
from web.site.requests import viewer_of

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
    context = {
        "form": form,
        "quotas": own_quotas(request.user),
        "has_second_factor": has_second_factor(request.user),
        "choices": choice_list(request.user),
        "has_providers": bool(get_adapter().list_apps(request)),
    }
    return render(request, "web/people/profile.html", context)


def user(request: HttpRequest, username: str) -> HttpResponse:
    """Show a person's public page, in pages: one account owns all anonymous agents, which may be many."""
    person = get_object_or_404(User, username__iexact=username, is_active=True)
    rows = user_agent_rows(person, viewer_of(request))
    page = Paginator(rows, AGENTS_A_PAGE).get_page(request.GET.get("page"))
    agents = user_agent_list(list(page.object_list))
    context = {"person": person, "agents": agents, "page": page, **team_parts(person, sender_of(request))}
    return render(request, "web/people/user.html", context)
