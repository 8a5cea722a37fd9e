"""Pages with which people take what is theirs, and leave."""

from __future__ import annotations

from collections.abc import Callable

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from core.errors import Refused
from core.models import User
from core.moderation.deletion import account_delete
from core.moderation.export import AccountExport
from core.people.audit_log import account_record
from web.people.forms import DeleteForm
from web.site.forms import refuse
from web.site.too_many import TooMany, too_many

View = Callable[[HttpRequest], HttpResponseBase]


def fresh(view: View) -> View:
    """Decorate a view that needs a person who has just shown who they are."""
    return login_required(reauthentication_required(view, app="allauth.account"))


@require_POST
@never_cache
@fresh
def export(request: HttpRequest) -> HttpResponseBase:
    """Send all that the arena keeps of the person, as a ZIP; one file at a time."""
    assert isinstance(request.user, User)
    try:
        parts = AccountExport(request.user)
    except Refused as refused:
        return too_many(request, TooMany(str(refused), code="export_open", retry_after_seconds=60))
    try:
        account_record(request, request.user, "export_account")
    except BaseException:
        parts.close()
        raise
    disposition = content_disposition_header(True, f"{request.user.username}.zip")
    return StreamingHttpResponse(
        parts, headers={"Content-Type": "application/zip", "Content-Disposition": str(disposition)}
    )


@never_cache
@fresh
def delete(request: HttpRequest) -> HttpResponse:
    """Say what deleting the account means, and delete it."""
    user = request.user
    assert isinstance(user, User)
    form = DeleteForm(request.POST or None, user=user)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                account_record(request, user, "delete_account")
                account_delete(user=user)
        except Refused as refusal:
            refuse(form, refusal)
        else:
            logout(request)
            messages.success(request, "Your account is deleted.")
            return redirect("web:home")
    return render(request, "web/people/delete.html", {"form": form}, status=422 if form.errors else 200)
