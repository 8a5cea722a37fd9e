"""Pages of courses: the list, a course, its settings, and the copy of one of its tournaments."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from core.assignments.marks import Mark, course_marks, membership
from core.courses.roster import course_counts
from core.courses.services import members_add
from core.courses.sight import MARKS, Viewer, listed
from core.errors import Refused
from core.models import Assignment, Course, Role, User
from core.people.audit_log import row_changes, row_values
from core.people.rights import may, roles_of
from core.tournaments.calendar import (
    tournament_past_list,
    tournament_past_rows,
    tournament_planned_list,
    tournament_running_list,
)
from core.tournaments.planning import tournament_copy
from web.courses.forms import CourseForm
from web.organise.acting import record
from web.site.organisers import check, organiser, organisers, sent
from web.site.requests import viewer_of

ANNOUNCEMENTS_SHOWN, PAST_SHOWN = 5, 20


@require_safe
def courses(request: HttpRequest) -> HttpResponse:
    """List the courses that lists show the viewer, their own first."""
    viewer = viewer_of(request)
    roles, counts = roles_of(viewer), {}
    rows = list(listed(Course.objects.all(), viewer))
    counts = course_counts(rows)
    shown = [(row, roles.get(row.pk), counts.get(row.pk, 0)) for row in rows]
    context = {
        "courses": sorted(shown, key=lambda line: line[1] is None),
        "may_add": may(viewer, "core.add_course"),
    }
    return render(request, "web/courses/list.html", context)


@organisers("core.add_course")
def add(request: HttpRequest) -> HttpResponse:
    """Create a course, and appoint its teachers."""
    return _form(request, CourseForm(sent(request), may_appoint=True), "Add a course", None)


@login_required
def change(request: HttpRequest, course: str) -> HttpResponse:
    """Change a course."""
    row = course_for(request, course, "core.change_course")
    form = CourseForm(sent(request), instance=row, may_appoint=may(request.user, "core.change_course"))
    return _form(request, form, f"Settings of {row}", row)


def _form(request: HttpRequest, form: CourseForm, title: str, row: Course | None) -> HttpResponse:
    before = row_values(row) if row else {}
    if form.is_valid():
        with transaction.atomic():
            saved = form.save()
            changes = row_changes(saved, before) if before else None
            members_add(course=saved, people=form.cleaned_data.get("teachers", ()), role=Role.TEACHER)
            saved.members.filter(user__in=form.cleaned_data.get("teachers", ())).update(role=Role.TEACHER)
            record(request, "change" if row else "add", saved, changes=changes)
        messages.success(request, f"{saved} is saved.")
        return redirect("web:course", saved.slug)
    context = {"form": form, "title": title, "course": row, "button": "Save"}
    return render(request, "web/courses/form.html", context, status=422 if form.errors else 200)


@require_safe
def course(request: HttpRequest, course: str) -> HttpResponse:
    """Show a course: its text, news, tournaments and environments."""
    row = get_object_or_404(Course, slug=course)
    viewer = viewer_of(request)
    member = row.members.filter(user=viewer.pk).select_related("team__account").first()
    context = {
        "course": row,
        "role": roles_of(viewer).get(row.pk),
        "member": member,
        "has_teams": row.team_size > 1 or row.teams.exists(),
        "leaving": member if member and member.role != Role.TEACHER else None,
        "teachers": row.members.filter(role=Role.TEACHER).select_related("user"),
        "news": row.announcements.select_related("written_by", "tournament__environment")[:ANNOUNCEMENTS_SHOWN],
        "planned": tournament_planned_list(row, now=timezone.now()),
        "running": tournament_running_list(row),
        "past": tournament_past_list(tournament_past_rows(row)[:PAST_SHOWN]),
        "environments": row.environments.order_by("name"),
        "assignments": assignments_of(row, viewer),
        "may_plan": may(viewer, "core.add_tournament", row.pk),
        "may_change": may(viewer, "core.change_course", row.pk),
        "may_see_people": may(viewer, "core.view_tournament", row.pk),
        "may_see_marks": may(viewer, MARKS, row.pk),
    }
    return render(request, "web/courses/course.html", context)


def assignments_of(course: Course, viewer: Viewer) -> list[tuple[Assignment, Mark | None]]:
    """Return the assignments of a course, for a student with the own marks."""
    if roles_of(viewer).get(course.pk) == Role.STUDENT and isinstance(viewer, User):
        return [
            (mark.assignment, mark)
            for line in course_marks(course, people=membership(course, viewer))
            for mark in line.marks
        ]
    return [(one, None) for one in course.assignments.select_related("environment")]


@require_POST
@login_required
def copy(request: HttpRequest, course: str, tournament_id: int) -> HttpResponse:
    """Plan a tournament of a course once more, a week later."""
    row = course_for(request, course, "core.add_tournament")
    tournament = get_object_or_404(row.tournaments.select_related("environment", "course"), pk=tournament_id)
    try:
        with transaction.atomic():
            made = tournament_copy(tournament=tournament, by=organiser(request), now=timezone.now())
            record(request, "add", made, f"A copy of {tournament}.")
    except Refused as refusal:
        messages.error(request, f"{tournament} was not copied. {refusal}")
        return redirect("web:course", row.slug)
    messages.success(request, f"{made} is planned. Change what differs.")
    return redirect("web:organise_replan", made.pk)


def course_for(request: HttpRequest, slug: str, right: str) -> Course:
    """Return a course for people with a right in it. Raises Http404 and PermissionDenied."""
    row = get_object_or_404(Course, slug=slug)
    check(request, right, row.pk)
    return row
