"""The page on which a list of people becomes accounts, and members of a course."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from core.errors import Refused
from core.models import Course, User
from core.people.codes import LIFE_WEEKS, code_of, code_renew
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
    if rows and "create" in request.POST and (made := _created(request, form, rows, course)) is not None:
        without = [user for user in made if not user.has_mailbox]
        return codes_page(request, without, after, course) if without else redirect(after)
    context: dict[str, Any] = {
        "tab": "organise_people",
        "form": form,
        "course": course,
        "after": after,
        "rows": rows,
        "moved": sum(row.moves for row in rows) if course else 0,
        "new": sum(row.is_new for row in rows),
        "on_paper": sum(row.is_new and not row.email for row in rows),
        "there": sum(row.account is not None for row in rows),
        "invited": sum(row.is_invited for row in rows),
        "wrong": sum(bool(row.problem) for row in rows),
        "text": form.cleaned_data["text"] if rows else "",
        "chosen": form.cleaned_data.get("tournament") if rows else None,
    }
    return render(request, "web/organise/class.html", context, status=422 if form.errors else 200)


def codes_page(request: HttpRequest, people: Iterable[User], after: str, course: Course | None = None) -> HttpResponse:
    """Show the codes of people without an e-mail, once and to be printed. after: the page that leads on."""
    now = timezone.now()
    context = {
        "tab": "organise_people",
        "codes": [(person, code_of(person, now)) for person in people],
        "address": request.build_absolute_uri(reverse("first_login")),
        "weeks": LIFE_WEEKS - 1,
        "after": after,
        "course": course,
    }
    return render(request, "web/organise/codes.html", context)


def code_page(request: HttpRequest, person: User, after: str, course: Course | None = None) -> HttpResponse:
    """Show a new code of a person without an e-mail; their password ends."""
    with transaction.atomic():
        code_renew(user=person, now=timezone.now())
        record(request, "new_code", person)
    return codes_page(request, [person], after, course)


def _read(form: ClassForm, course: Course | None) -> list[ClassRow]:
    """Return the people of a valid form; for a text that is no list, note why at the form."""
    try:
        return class_read(form.cleaned_data["text"], course)
    except Refused as refusal:
        refuse(form, refusal)
        return []


def _created(request: HttpRequest, form: ClassForm, rows: list[ClassRow], course: Course | None) -> list[User] | None:
    """Create the accounts of a list, and return them; None if it was refused."""
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
        return None
    told = f" {tournament} now invites all people of the list." if tournament else ""
    if course is not None and (invited := sum(row.is_invited for row in rows)):
        told = f" {invited} {'person who has' if invited == 1 else 'people who have'} an account got the join link."
    by_mail = " Each person with an e-mail gets a link." if any(user.has_mailbox for user in made) else ""
    created = f"{len(made)} account{'s' * (len(made) != 1)} created.{by_mail}" if made else ""
    messages.success(request, f"{created}{told}".strip() or "The teams are changed.")
    return made
