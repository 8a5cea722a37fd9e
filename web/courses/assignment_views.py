"""Pages of assignments: their results, live, for a student or the staff of the course; the forms; the marks."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from core.assignments.board import class_board
from core.assignments.marks import Mark, assignment_marks, membership, students_of
from core.assignments.services import (
    assignment_copy,
    assignment_delete,
    assignment_save,
    environments_for,
    extend,
    mark_by_hand,
)
from core.courses.sight import MARKS
from core.courses.tutoring import SOURCES
from core.errors import Refused
from core.models import Assignment, Course, User
from core.people.audit_log import row_changes, row_values
from core.people.rights import may
from core.times import zone_of
from web.courses.assignment_forms import AssignmentForm, ExtendForm, MarkForm
from web.courses.assignment_parts import board_view, goal_views
from web.courses.views import course_for
from web.organise.acting import record
from web.site.forms import refuse
from web.site.organisers import organiser, sent
from web.site.requests import account_of, viewer_of

RIGHT = "core.change_course"


@require_safe
def assignment(request: HttpRequest, course: str, assignment_id: int) -> HttpResponse:
    """Show an assignment, with the results of the viewer, or of all students to the staff of its course.

    For htmx only the part that changes while versions play.
    """
    row = _assignment(course, assignment_id)
    sees_all = may(request.user, MARKS, row.course_id)
    marks = assignment_marks(row, people=None if sees_all else membership(row.course, account_of(request)))
    board = board_view(class_board(row, viewer_of(request), now=timezone.now()), request)
    return _page(request, row, marks, own=None if sees_all or not marks else marks[0], board=board)


@require_safe
@login_required
def person(request: HttpRequest, course: str, assignment_id: int, member_id: int) -> HttpResponse:
    """Show the result of one student to the staff of the course."""
    row = _assignment(course, assignment_id)
    course_for(request, course, MARKS)
    found = get_object_or_404(students_of(row.course), pk=member_id)
    (mark,) = assignment_marks(row, people=[found])
    form = MarkForm(initial={"marks": mark.marks})
    return _page(request, row, [mark], own=mark, of=found.user, form=form)


@require_POST
@login_required
def person_mark(request: HttpRequest, course: str, assignment_id: int, member_id: int) -> HttpResponse:
    """Change the marks of one student by hand, or take that back."""
    row = _assignment(course, assignment_id)
    course_for(request, course, RIGHT)
    found = get_object_or_404(students_of(row.course), pk=member_id)
    form = MarkForm(request.POST)
    form.fields["marks"].required = "back" not in request.POST
    if form.is_valid():
        marks = None if "back" in request.POST else form.cleaned_data["marks"]
        try:
            with transaction.atomic():
                by = organiser(request)
                reason = form.cleaned_data["reason"]
                sentence = mark_by_hand(assignment=row, user=found.user, marks=marks, reason=reason, by=by)
                record(request, "mark_by_hand", row, f"{sentence} Reason: {reason}")
        except Refused as refusal:
            refuse(form, refusal)
        else:
            messages.success(request, sentence)
            return redirect("web:assignment_person", course, row.pk, found.pk)
    (mark,) = assignment_marks(row, people=[found])
    return _page(request, row, [mark], own=mark, of=found.user, form=form)


def _page(
    request: HttpRequest,
    row: Assignment,
    marks: list[Mark],
    own: Mark | None,
    of: User | None = None,
    form: MarkForm | None = None,
    **more: object,
) -> HttpResponse:
    context = {
        "assignment": row,
        "course": row.course,
        "baselines": row.baselines.select_related("agent__owner"),
        "marks": marks,
        "own": own,
        "of": of,
        "goals": [] if own is None else goal_views(own, viewer_of(request)),
        "sees_names": may(request.user, SOURCES, row.course_id),
        "is_open": row.opens_at <= timezone.now(),
        "may_change": may(request.user, RIGHT, row.course_id),
        "form": form,
    } | more
    part = request.headers.get("HX-Target") == "results"
    page = "web/courses/results.html" if part else "web/courses/assignment.html"
    return render(request, page, context, status=422 if form is not None and form.errors else 200)


@login_required
def add(request: HttpRequest, course: str) -> HttpResponse:
    """Add an assignment, or a term of them."""
    row = course_for(request, course, RIGHT)
    opens_at = timezone.now().replace(minute=0, second=0, microsecond=0)
    initial = {"name": "Week 1", "opens_at": opens_at, "due_at": opens_at + timedelta(days=7)}
    # Its own first, then games.
    initial["environment"] = environments_for(row).order_by(F("course").asc(nulls_last=True), "-seats", "name").first()
    with timezone.override(zone_of(row.time_zone)):
        form = AssignmentForm(sent(request), initial=initial, course=row)
        return _form(request, form, row, "Add an assignment")


@login_required
def change(request: HttpRequest, course: str, assignment_id: int) -> HttpResponse:
    """Change an assignment. Marks follow at once; a share that is changed is tested again."""
    row = course_for(request, course, RIGHT)
    found = get_object_or_404(row.assignments, pk=assignment_id)
    with timezone.override(zone_of(row.time_zone)):
        form = AssignmentForm(sent(request), instance=found, course=row)
        return _form(request, form, row, f"Change {found}")


def _form(request: HttpRequest, form: AssignmentForm, course: Course, title: str) -> HttpResponse:
    before = row_values(form.instance) if form.instance.pk else None
    if form.is_valid():
        try:
            with transaction.atomic():
                made = assignment_save(
                    assignment=form.instance, wanted=form.wanted, weeks=form.cleaned_data.get("weeks", 1)
                )
                for one in made:
                    changes = None if before is None else row_changes(one, before)
                    wanted = ", ".join(f"{it}: {it.marks}" for it in one.baselines.all())
                    record(request, "add" if before is None else "change", one, wanted, changes)
        except Refused as refusal:
            refuse(form, refusal)
        else:
            messages.success(
                request, f"{made[0]} is saved." if len(made) == 1 else f"{len(made)} assignments are added."
            )
            return redirect("web:course", course.slug) if len(made) > 1 else _to(made[0])
    context = {"form": form, "title": title, "course": course}
    return render(request, "web/courses/assignment_form.html", context, status=422 if form.errors else 200)


@require_POST
@login_required
def copy(request: HttpRequest, course: str, assignment_id: int) -> HttpResponse:
    """Add an assignment once more, a week later."""
    row = get_object_or_404(course_for(request, course, RIGHT).assignments, pk=assignment_id)
    with transaction.atomic():
        made = assignment_copy(assignment=row)
        record(request, "add", made, f"A copy of {row}.")
    messages.success(request, f"{made} is added. Change what differs.")
    return redirect("web:assignment_change", course, made.pk)


@require_POST
@login_required
def delete(request: HttpRequest, course: str, assignment_id: int) -> HttpResponse:
    """Delete an assignment that no version has played for."""
    row = get_object_or_404(course_for(request, course, RIGHT).assignments, pk=assignment_id)
    try:
        with transaction.atomic():
            record(request, "delete", row)
            assignment_delete(assignment=row)
    except Refused as refusal:
        messages.error(request, f"{row} stays. {refusal}")
        return _to(row)
    messages.success(request, f"{row} is deleted.")
    return redirect("web:course", course)


@require_POST
@login_required
def extend_to(request: HttpRequest, course: str) -> HttpResponse:
    """Give the chosen people of the roster a later deadline."""
    row = course_for(request, course, RIGHT)
    with timezone.override(zone_of(row.time_zone)):
        form = ExtendForm(request.POST, course=row)
        is_valid = form.is_valid()
    keys = set(request.POST.getlist("member"))
    chosen = [one for one in row.members.select_related("user") if str(one.pk) in keys]
    try:
        if not is_valid:
            raise Refused("Choose an assignment and a time.")
        task, due_at = form.cleaned_data["assignment"], form.cleaned_data["due_at"]
        with transaction.atomic():
            count = extend(assignment=task, members=chosen, due_at=due_at)
            names = ", ".join(str(one.user) for one in chosen)
            record(request, "extend", task, f"Until {row.moment(due_at)}: {names}.")
    except Refused as refusal:
        messages.error(request, f"No deadline was changed. {refusal}")
    else:
        people = "1 person has" if count == 1 else f"{count} people have"
        messages.success(request, f"{people} until {row.moment(max(due_at, task.due_at))} for {task}.")
    return redirect("web:course_people", row.slug)


def _assignment(course: str, assignment_id: int) -> Assignment:
    rows = Assignment.objects.select_related("course", "environment")
    return get_object_or_404(rows, course__slug=course, pk=assignment_id)


def _to(row: Assignment) -> HttpResponse:
    return redirect("web:assignment", row.course.slug, row.pk)
