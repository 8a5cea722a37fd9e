"""The page on which a list of people becomes accounts, and members of a course."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from core.errors import Refused
from core.models import Course
from core.people.rights import may
from core.tournaments.class_lists import ClassRow, class_create, class_read
from web.organise.acting import record
from web.organise.people_forms import INVITES, ClassForm
from web.site.forms import refuse
from web.site.organisers import sent


def class_page(request: HttpRequest, course: Course | None = None) -> HttpResponse:
    """Show the page of a list of people. course: the course whose members they become."""
    may_invite = course is None and may(request.user, INVITES)
    form = ClassForm(sent(request), request.FILES or None, may_invite=may_invite)
    rows = _read(form, course) if form.is_valid() else []
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
        "invited": sum(row.is_invited for row in rows),
        "wrong": sum(bool(row.problem) for row in rows),
        "text": form.cleaned_data["text"] if rows else "",
        "chosen": form.cleaned_data.get("tournament") if rows else None,
    }
    return render(request, "web/organise/class.html", context, status=422 if form.errors else 200)


def _read(form: ClassForm, course: Course | None) -> list[ClassRow]:
    """Return the people of a valid form; for a text that is no list, note why at the form."""
    try:
        return class_read(form.cleaned_data["text"], course)
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
    if course is not None and (invited := sum(row.is_invited for row in rows)):
        told = f" {invited} {'person who has' if invited == 1 else 'people who have'} an account got the join link."
    created = f"{len(made)} account{'s' * (len(made) != 1)} created; each person gets a link by e-mail." if made else ""
    messages.success(request, f"{created}{told}".strip() or "The teams are changed.")
    return True
