"""Pages of the inbox, of the choices of notices, and of unsubscribing from e-mails."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from core.models import Notice, NoticeKind, User
from core.notices import selectors as notices
from core.notices.mails import unsubscribe_find
from core.notices.services import choices_save, mail_stop, notices_read
from core.submissions.blunders import BlunderShown, blunders_by_page
from web.site.requests import page_number

NOTICES_A_PAGE = 30
OPEN_GROUPS = 10
"""Groups of notices of a page that are shown at once; the earlier ones are folded."""


@dataclass(frozen=True, slots=True)
class NoticeGroup:
    """Notices that lead to one page, the newest first. blunder: the worst one in the event that they are about."""

    notices: list[Notice]
    blunder: BlunderShown | None


@login_required
def inbox(request: HttpRequest) -> HttpResponse:
    """Show the notices of the account, newest first."""
    assert isinstance(request.user, User)
    page = Paginator(
        notices.inbox(request.user).select_related("agent__environment", "rival"), NOTICES_A_PAGE
    ).get_page(request.GET.get("page"))
    groups = _grouped(page, request.user)
    context = {
        "page": page,
        "groups": groups[:OPEN_GROUPS],
        "earlier": groups[OPEN_GROUPS:],
        "earlier_count": sum(len(group.notices) for group in groups[OPEN_GROUPS:]),
        "has_unread": notices.unread_count(request.user),
    }
    return render(request, "web/people/inbox.html", context)


def _grouped(rows: Iterable[Notice], user: User) -> list[NoticeGroup]:
    """Group notices that lead to one page, e.g. of an agent; groups and notices stay in their order."""
    groups: dict[str, list[Notice]] = {}
    for row in rows:
        groups.setdefault(row.address or f"notice {row.pk}", []).append(row)
    ended = (NoticeKind.TOURNAMENT_ENDED, NoticeKind.CHALLENGE_ENDED)
    blunders = blunders_by_page(user, {key for key, found in groups.items() if found[0].kind in ended})
    return [NoticeGroup(found, blunders.get(key)) for key, found in groups.items()]


@require_POST
@login_required
def read(request: HttpRequest, notice_id: int) -> HttpResponse:
    """Mark a notice as read, and with `open` redirect to the page that it is about."""
    assert isinstance(request.user, User)
    row = get_object_or_404(notices.inbox(request.user), pk=notice_id)
    notices_read(user=request.user, notice_id=row.pk)
    is_ours = url_has_allowed_host_and_scheme(row.address, None)
    if "open" in request.POST and row.address and is_ours:
        return redirect(row.address)
    # Back to the same notice, so that people who use the keyboard continue from there.
    number = page_number(request.POST)
    page = f"?page={number}" if number > 1 else ""
    return redirect(f"{reverse('web:inbox')}{page}#notice-{row.pk}")


@require_POST
@login_required
def read_all(request: HttpRequest) -> HttpResponse:
    """Mark the whole inbox as read."""
    assert isinstance(request.user, User)
    notices_read(user=request.user)
    return redirect("web:inbox")


@login_required
def choices(request: HttpRequest) -> HttpResponse:
    """Save which notices go to the inbox and which by e-mail. GET, as after a login, redirects to the table."""
    assert isinstance(request.user, User)
    if request.method == "POST":
        wanted = {kind: (f"{kind}-inbox" in request.POST, f"{kind}-mail" in request.POST) for kind in NoticeKind}
        choices_save(user=request.user, wanted=wanted)
        messages.success(request, "Your choice of notices is saved.")
    return redirect(f"{reverse('web:profile')}#notices")


@csrf_exempt  # the signed link is the permission: mail programs post it without a page of ours (RFC 8058)
@never_cache
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """Stop e-mails of one kind, or all, by the link in an e-mail. GET changes nothing."""
    found = unsubscribe_find(token)
    if found is None:
        raise Http404(
            "This link is incomplete, or its account no longer exists. Your profile page has all notice settings."
        )
    user, kind = found
    if request.method == "POST":
        mail_stop(user=user, kinds=NoticeKind if "all" in request.POST else [kind])
    context = {"kind": kind, "is_done": request.method == "POST", "is_all": "all" in request.POST}
    return render(request, "web/people/unsubscribe.html", context)
