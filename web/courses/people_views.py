"""The people of a course: the roster, roles, reminders, and the ways in."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from core.courses.roster import FAILED, NOTHING, UNREGISTERED, Roster, roster_get
from core.courses.services import (
    join_address,
    join_close,
    join_find,
    join_open,
    member_change,
    member_remove,
    members_add,
    people_tell,
)
from core.courses.tutoring import SOURCES
from core.models import Course, Role
from core.people.codes import has_code
from core.people.rights import may
from web.courses.assignment_forms import ExtendForm
from web.courses.views import course_for
from web.organise.acting import record
from web.organise.class_page import class_page, code_page
from web.site.organisers import check, organiser

FILTERS = ((NOTHING, "Nothing yet"), (FAILED, "Failed"), (UNREGISTERED, "Not registered"))
REMINDERS = {
    NOTHING: "You have not uploaded an agent yet.",
    FAILED: "Your newest version has failed. Its page says why.",
    UNREGISTERED: "You have not registered an agent for {} yet.",
}
RIGHT = "core.change_course"


@require_safe
@login_required
def people(request: HttpRequest, course: str) -> HttpResponse:
    """Show the roster, or the members whom a filter finds."""
    row = course_for(request, course, "core.view_tournament")
    roster, show = roster_get(row, now=timezone.now()), request.GET.get("show", "")
    may_change = may(request.user, RIGHT, row.pk)
    context = {
        "course": row,
        "roster": roster,
        "rows": roster.shown(show),
        "show": show if show in REMINDERS else "",
        "filters": [("", "All", len(roster.rows)), *((key, words, roster.count(key)) for key, words in FILTERS)],
        "reminder": _reminder(roster, show),
        "may_change": may_change,
        "sees_names": may(request.user, SOURCES, row.pk),
        "may_appoint": may(request.user, RIGHT),
        "roles": Role.choices if may(request.user, RIGHT) else [one for one in Role.choices if one[0] != Role.TEACHER],
        "teams": list(row.teams.select_related("account")) if may_change else [],
        "extend": ExtendForm(course=row) if may_change and row.assignments.exists() else None,
        "link": join_address(row) if may_change else "",
    }
    return render(request, "web/courses/people.html", context)


def _reminder(roster: Roster, show: str) -> str:
    return REMINDERS.get(show, "").format(roster.coming)


@require_POST
@login_required
def remind(request: HttpRequest, course: str) -> HttpResponse:
    """Send a reminder to the members whom a filter finds."""
    row = course_for(request, course, RIGHT)
    roster, show = roster_get(row, now=timezone.now()), request.POST.get("show", "")
    if show not in REMINDERS:
        raise Http404("There is no such filter.")
    lacking = [one.member.user for one in roster.shown(show)]
    with transaction.atomic():
        count = people_tell(course=row, people=lacking, title=f"A reminder from {row}", text=_reminder(roster, show))
        record(request, "remind", row, f"{count} people: {show}")
    messages.success(request, f"{count} {'person is' if count == 1 else 'people are'} reminded.")
    return redirect(f"{reverse('web:course_people', args=[row.slug])}?show={show}")


@require_POST
@login_required
def member(request: HttpRequest, course: str, member_id: int) -> HttpResponse:
    """Give a member another role, or remove them; they may leave too. Only organisers of the site choose teachers."""
    row, role = get_object_or_404(Course, slug=course), request.POST.get("role", "")
    found = get_object_or_404(row.members.select_related("user"), pk=member_id, user__as_team=None)
    leaves = role == "remove" and found.user == request.user and found.role != Role.TEACHER
    if not leaves:
        check(request, RIGHT, row.pk)
    if role not in (*Role.values, "remove"):
        raise Http404("There is no such role.")
    if Role.TEACHER in (found.role, role) and not may(request.user, RIGHT):
        raise PermissionDenied("Only the organisers of the site appoint teachers.")
    with transaction.atomic():
        record(request, "change_member", row, f"{found.user}: {found.get_role_display()} to {role.lower()}")
        if role == "remove":
            member_remove(member=found)
        else:
            member_change(member=found, role=Role(role))
    if leaves:
        messages.success(request, f"You have left {row}.")
        return redirect("web:courses")
    messages.success(request, f"{found.user} is {'removed' if role == 'remove' else f'a {Role(role).label} now'}.")
    return redirect("web:course_people", row.slug)


@require_POST
@login_required
def code(request: HttpRequest, course: str, member_id: int) -> HttpResponse:
    """Make a new code for a student without an e-mail who is in no other course, in place of their password."""
    row = course_for(request, course, RIGHT)
    found = get_object_or_404(row.members.select_related("user"), pk=member_id, role=Role.STUDENT)
    user = found.user
    if not has_code(user) or user.memberships.exclude(pk=found.pk).exists():
        raise PermissionDenied("Only organisers of the site make codes for people with an e-mail or another course.")
    return code_page(request, user, reverse("web:course_people", args=[row.slug]), row)


@require_POST
@login_required
def link(request: HttpRequest, course: str) -> HttpResponse:
    """Make a new join link, or end it."""
    row = course_for(request, course, RIGHT)
    is_open = "open" in request.POST
    with transaction.atomic():
        (join_open if is_open else join_close)(group=row)
        record(request, "open_link" if is_open else "end_link", row)
    messages.success(request, "There is a new link." if is_open else "The link has ended.")
    return redirect("web:course_people", row.slug)


@login_required
def class_list(request: HttpRequest, course: str) -> HttpResponse:
    """Add the people of a list, after a preview."""
    return class_page(request, course_for(request, course, RIGHT))


@login_required
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Show the course of a join link, and join it."""
    row = join_find(Course, token)
    if row is None:
        raise Http404("This link has ended. Ask a teacher for another one.")
    if request.method == "POST":
        members_add(course=row, people=[organiser(request)])
        messages.success(request, f"You are a member of {row}.")
        return redirect("web:course", row.slug)
    return render(request, "web/courses/join.html", {"course": row})
