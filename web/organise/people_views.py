"""The organisers' pages of people: the list, an account, invitation links, and lists of a class."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from core.errors import Refused
from core.models import Course, InviteLink, User
from core.people.acting import owner_told
from core.people.audit_log import row_changes, row_values
from core.people.rights import may
from core.people.selectors import people_found
from core.people.services import quotas_save
from core.tournaments.class_lists import ClassRow, class_create, class_read
from core.tournaments.invite_links import link_address
from web.organise.acting import record
from web.organise.people_forms import ClassForm, LinkForm, QuotasForm
from web.site.forms import refuse
from web.site.organisers import may_change_account, organiser, organisers, sent
from web.site.requests import page_number

A_PAGE = 50
SHOWN = {"all": {}, "banned": {"is_active": False}, "organisers": {"is_staff": True}}
"""Which accounts each filter shows."""
LINKS_SHOWN = 100
INVITES = "core.change_tournament"
"""The right to invite people to a tournament."""


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


def class_page(request: HttpRequest, course: Course | None = None) -> HttpResponse:
    """Show the page of a list of people. course: the course whose members they become."""
    may_invite = course is None and may(request.user, INVITES)
    form = ClassForm(sent(request), request.FILES or None, may_invite=may_invite)
    rows = _read(form) if form.is_valid() else []
    after = reverse("web:course_people", args=[course.slug]) if course else reverse("web:organise_people")
    if rows and "create" in request.POST and _created(request, form, rows, course):
        return redirect(after)
    context: dict[str, Any] = {
        "tab": "organise_people",
        "form": form,
        "course": course,
        "after": after,
        "rows": rows,
        "moved": sum(row.moves for row in rows) if course else 0,
        "new": sum(row.is_new for row in rows),
        "there": sum(row.account is not None for row in rows),
        "wrong": sum(bool(row.problem) for row in rows),
        "text": form.cleaned_data["text"] if rows else "",
        "chosen": form.cleaned_data.get("tournament") if rows else None,
    }
    return render(request, "web/organise/class.html", context, status=422 if form.errors else 200)


def _read(form: ClassForm) -> list[ClassRow]:
    """Return the people of a valid form; for a text that is no list, note why at the form."""
    try:
        return class_read(form.cleaned_data["text"])
    except Refused as refusal:
        refuse(form, refusal)
        return []


def _created(request: HttpRequest, form: ClassForm, rows: list[ClassRow], course: Course | None) -> bool:
    """Create the accounts of a list; return whether it was done."""
    tournament = form.cleaned_data.get("tournament")
    try:
        with transaction.atomic():
            made = class_create(rows=rows, tournament=tournament, course=course)
            for user in made:
                record(request, "add", user, "From a list of people.")
            if course is not None:
                record(request, "add_members", course, f"{len(rows)} lines of a list.")
            if tournament is not None:
                record(request, "invite", tournament, "People of a list are invited.")
    except Refused as refusal:
        refuse(form, refusal)
        return False
    told = f" {tournament} now invites all people of the list." if tournament else ""
    told = f" All people of the list are members of {course}." if course else told
    messages.success(
        request, f"{len(made)} account{'s' * (len(made) != 1)} created; each person gets a link by e-mail.{told}"
    )
    return True
