"""The marks of a course: the page, a page at a time, and the file of all."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from core.assignments.marks import course_marks, membership, students_of
from core.courses.sight import MARKS
from core.courses.tutoring import SOURCES
from core.listing import Counted
from core.models import Course, Member
from core.people.rights import may
from web.courses.marks_parts import marks_file
from web.courses.views import course_for
from web.site.organisers import organiser
from web.site.requests import page_number

A_PAGE = 50


@require_safe
@login_required
def marks(request: HttpRequest, course: str) -> HttpResponse:
    """Show the marks of all students to the staff of the course, to others their own."""
    row, viewer, now = get_object_or_404(Course, slug=course), organiser(request), timezone.now()
    sees_all, sees_names = may(viewer, MARKS, row.pk), may(viewer, SOURCES, row.pk)
    query = request.GET.get("q", "").replace("\0", "")[:100] if sees_all else ""
    people = _found(students_of(row), query, sees_names) if sees_all else membership(row, viewer).order_by("pk")
    page = Counted(people, A_PAGE).get_page(page_number(request.GET))
    context = {
        "course": row,
        "sees_all": sees_all,
        "sees_names": sees_names,
        "query": query,
        "assignments": row.assignments.prefetch_related("baselines"),
        "page": page,
        "lines": [(line, line.percent(now)) for line in course_marks(row, people=page.object_list)],
    }
    return render(request, "web/courses/marks.html", context)


def _found(people: QuerySet[Member], query: str, sees_names: bool) -> QuerySet[Member]:
    """Return the people whose user name, team or, for staff who see it, own name has these words."""
    names = ["user__username", "user__team", "team__account__username"]
    names += ["user__first_name", "user__last_name"] if sees_names else []
    for word in query.split():
        people = people.filter(Q(*((f"{name}__icontains", word) for name in names), _connector=Q.OR))
    return people


@require_safe
@login_required
def marks_csv(request: HttpRequest, course: str) -> HttpResponse:
    """Return the marks of all students of a course as a CSV file."""
    row = course_for(request, course, MARKS)
    return marks_file(row, now=timezone.now(), sees_names=may(request.user, SOURCES, row.pk))
