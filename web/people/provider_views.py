"""Pages about providers that people log in with."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from allauth.socialaccount.models import SocialAccount, SocialApp
from allauth.socialaccount.views import ConnectionsView, LoginCancelledView, LoginErrorView
from django import forms
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from requests import RequestException

from core.models import User
from core.people.access import KEEP
from core.people.audit_log import account_record
from web.people.login_views import AsksForTokens, WithProviders

logger = logging.getLogger(__name__)
View = Callable[..., HttpResponseBase]


def with_provider(view: View) -> View:
    """Decorate django-allauth's views of a provider: people see a page where it is unknown, away or answers nonsense.

    The policy of content lets forms lead to this site only, and browsers apply it to redirects of forms too. So instead
    of a redirect to the provider they get a page that leads there by itself.
    """

    @wraps(view)
    def wrapper(request: HttpRequest, **names: str) -> HttpResponseBase:
        if request.method == "POST" and request.user.is_authenticated:
            # The form leads to the provider; the account changes when its owner comes back.
            request.session[KEEP] = KEEP in request.POST
        try:
            response = view(request, **names)
        except SocialApp.DoesNotExist:
            raise Http404("The arena knows no such provider.") from None
        except (RequestException, KeyError) as error:
            logger.warning("A login provider does not answer as expected: %s", type(error).__name__)
            return redirect("socialaccount_login_error")
        address = response.headers.get("Location", "")
        if urlsplit(address).netloc in ("", request.get_host()):
            return response
        page = render(request, "web/people/leave.html", {"address": address, "host": urlsplit(address).netloc})
        page.headers["Refresh"] = f"0; url={address}"
        page.headers["Cache-Control"] = "no-store"
        return page

    return wrapper


class Cancelled(LoginCancelledView):
    template_name = "web/people/notice.html"
    extra_context = {"title": "You are not logged in", "lead": "The login with the provider was cancelled."}


class Failed(LoginErrorView):
    template_name = "web/people/notice.html"
    extra_context = {
        "title": "You are not logged in",
        "lead": "The login with the provider failed. Please try again, or log in by another way.",
    }


class Connections(AsksForTokens, WithProviders, ConnectionsView):
    """Show the providers that open an account, add one or give one up."""

    template_name = "web/people/logins.html"

    def form_valid(self, form: forms.Form) -> HttpResponse:
        assert isinstance(self.request.user, User)
        with transaction.atomic():
            account_record(self.request, self.request.user, "remove_login")
            return super().form_valid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        rows = SocialAccount.objects.filter(user=self.request.user)
        return {**super().get_context_data(**kwargs), "logins": [(row.pk, *_shown(row)) for row in rows]}


def _shown(row: SocialAccount) -> tuple[str, str]:
    """Return the name of the provider of a login, and whom it names."""
    try:
        return row.get_provider().name, row.get_provider_account().to_str()
    except SocialApp.DoesNotExist:
        return row.provider, "The arena no longer knows this provider."
