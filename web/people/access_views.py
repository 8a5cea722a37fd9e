"""Pages of what is open at an account: sessions with the latest logins, and API tokens."""

from __future__ import annotations

from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from core.errors import Refused
from core.models import User
from core.people import tokens as services
from core.people.access import access_end
from core.people.audit_log import account_record
from core.people.sessions import session_end, session_list
from web.people.devices import device_named
from web.people.forms import TokenForm
from web.site.forms import refuse

EVENTS = 20
"""The number of the latest logins and changes that a person sees, and of refused ones."""


@login_required
def sessions(request: HttpRequest) -> HttpResponse:
    """Show the open sessions of an account, and what happened to it."""
    assert isinstance(request.user, User)
    rows = session_list(request.user, now=timezone.now())
    current = request.session.session_key
    events = {refused: request.user.events.filter(is_refused=refused)[:EVENTS] for refused in (False, True)}
    context = {
        "sessions": [(row, device_named(row.user_agent), row.session_key == current) for row in rows],
        "tables": [
            (title, [(event, device_named(event.device)) for event in events[refused]])
            for title, refused in (("Logins and changes", False), ("Refused attempts", True))
        ],
    }
    return render(request, "web/people/sessions.html", context)


@require_POST
@login_required
def session_close(request: HttpRequest, session_id: int) -> HttpResponse:
    """End one session, which may be this one."""
    assert isinstance(request.user, User)
    with transaction.atomic():
        if not session_end(user=request.user, session_id=session_id):
            raise Http404("You have no such session, or it is over.")
        account_record(request, request.user, "end_session")
    if not request.session.exists(request.session.session_key or ""):
        logout(request)
        return redirect("web:home")
    messages.success(request, "The session is ended.")
    return redirect("web:sessions")


@require_POST
@login_required
def sessions_close(request: HttpRequest) -> HttpResponse:
    """End all sessions of an account but this one."""
    assert isinstance(request.user, User)
    with transaction.atomic():
        access_end(user=request.user, keeps_tokens=True)
        account_record(request, request.user, "end_other_sessions")
    messages.success(request, "You are logged out everywhere else.")
    return redirect("web:sessions")


@login_required
def tokens(request: HttpRequest) -> HttpResponse:
    """Show the API tokens of an account, and the form for a new one to people who have just shown who they are."""
    if request.method != "POST":
        return _tokens_page(request)
    if _is_stale():
        # django-allauth would keep the form in the session, and send it again later.
        return redirect(_again())
    return _created(request)


def _created(request: HttpRequest) -> HttpResponse:
    """Create a token and show it on this answer only."""
    assert isinstance(request.user, User)
    form = TokenForm(request.POST, person=request.user)
    if form.is_valid():
        try:
            with transaction.atomic():
                row, token = services.token_create(owner=request.user, now=timezone.now(), **form.cleaned_data)
                account_record(request, request.user, "make_token", row=row)
        except Refused as refusal:
            refuse(form, refusal)
        else:
            return _tokens_page(request, new_token=token)
    return _tokens_page(request, form=form)


@login_required
def token_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revoke one of the account's tokens. GET, as after a login, redirects to the list."""
    if request.method != "POST":
        return redirect("web:tokens")
    assert isinstance(request.user, User)
    with transaction.atomic():
        row = services.token_revoke(owner=request.user, token_id=token_id)
        if row is None:
            raise Http404("You have no such token, or it is already revoked.")
        account_record(request, request.user, "revoke_token", row=row)
    messages.success(request, "The token is revoked.")
    return redirect("web:tokens")


def _tokens_page(request: HttpRequest, *, form: TokenForm | None = None, new_token: str = "") -> HttpResponse:
    assert isinstance(request.user, User)
    context = {
        "tokens": services.token_list(request.user, now=timezone.now()),
        "form": form or TokenForm(person=request.user),
        "new_token": new_token,
        "again": _again() if _is_stale() else "",
    }
    return render(request, "web/people/tokens.html", context, status=422 if form else 200)


def _is_stale() -> bool:
    return bool(get_adapter().is_reauthentication_required(app="allauth.account"))


def _again() -> str:
    """Return the address where people show again who they are, and which leads back to the tokens."""
    return f"{reverse('account_reauthenticate')}?{urlencode({'next': reverse('web:tokens')})}"
