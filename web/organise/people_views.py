"""The organisers' pages of people: the list, an account, invitation links, and lists of a class."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from core.models import InviteLink, User
from core.people.acting import owner_told
from core.people.audit_log import row_changes, row_values
from core.people.codes import has_code
from core.people.rights import may
from core.people.selectors import people_found
from core.people.services import quotas_save
from core.tournaments.invite_links import link_address
from web.organise.acting import record
from web.organise.class_page import class_page, code_page
from web.organise.people_forms import INVITES, LinkForm, QuotasForm
from web.site.organisers import may_change_account, organiser, organisers, sent
from web.site.requests import page_number

A_PAGE = 50
SHOWN = {"all": {}, "banned": {"is_active": False}, "organisers": {"is_staff": True}}
"""Which accounts each filter shows."""
LINKS_SHOWN = 100


@organisers("core.view_user")
def people(request: HttpRequest) -> HttpResponse:
    """Show the accounts, found by words and by a filter."""
    query, shown = request.GET.get("q", "").replace("\0", "")[:100], request.GET.get("show", "all")
    rows = people_found(query).filter(**SHOWN.get(shown, {})).annotate(agent_count=Count("agents"))
    context = {
        "tab": "organise_people",
        "query": query,
        "show": shown,
        "filters": (("all", "All"), ("banned", "Banned"), ("organisers", "Organisers")),
        "page": Paginator(rows, A_PAGE).get_page(page_number(request.GET)),
    }
    return render(request, "web/organise/people.html", context)


@organisers("core.view_user")
def person(request: HttpRequest, user_id: int) -> HttpResponse:
    """Show an account with its quotas, which can be set here."""
    row = get_object_or_404(User.objects.annotate(agent_count=Count("agents")), pk=user_id)
    may_change = may(request.user, "core.change_user") and may_change_account(organiser(request), row)
    form = QuotasForm(request.POST if request.method == "POST" and may_change else None, instance=row)
    if form.is_valid():
        data, before = form.cleaned_data, row_values(get_object_or_404(User, pk=user_id))
        with transaction.atomic():
            quotas_save(user=row, is_exempt=data["is_quota_exempt"], quotas=data)
            record(request, "change", row, changes=row_changes(row, before))
            owner_told(by=request.user, row=row, sentence="has other quotas")
        messages.success(request, f"The quotas of {row} are saved.")
        return redirect("web:organise_person", user_id)
    context = {"tab": "organise_people", "person": row, "form": form, "may_change": may_change}
    return render(request, "web/organise/person.html", context, status=422 if form.errors else 200)


@require_POST
@organisers("core.change_user")
def person_code(request: HttpRequest, user_id: int) -> HttpResponse:
    """Make a new code for an account without an e-mail, in place of its password."""
    row = get_object_or_404(User, pk=user_id)
    if not has_code(row):
        raise Http404("Codes are for people without an e-mail.")
    if not may_change_account(organiser(request), row):
        raise PermissionDenied("Only superusers may change this account.")
    return code_page(request, row, reverse("web:organise_person", args=[user_id]))


@organisers("core.add_user")
def links(request: HttpRequest) -> HttpResponse:
    """Show the links with which people create accounts, and make a new one."""
    form = LinkForm(sent(request), may_invite=may(request.user, INVITES))
    if form.is_valid():
        form.instance.created_by = organiser(request)
        with transaction.atomic():
            row = form.save()
            record(request, "add", row)
        messages.success(request, f"Send people this link: {link_address(row)}")
        return redirect("web:organise_links")
    rows = InviteLink.objects.select_related("tournament__environment", "created_by")[:LINKS_SHOWN]
    context = {
        "tab": "organise_people",
        "form": form,
        "now": timezone.now(),
        "links": [(row, link_address(row)) for row in rows],
    }
    return render(request, "web/organise/links.html", context, status=422 if form.errors else 200)


@organisers("core.add_user")
def class_list(request: HttpRequest) -> HttpResponse:
    """Read a list of people and show what would happen; with `create`, make the accounts."""
    return class_page(request)
