"""The marks of a course as a file, and as programs read them."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpResponse

from core.assignments.marks import course_marks
from core.models import Course
from web.site.exports import Row, exported


def marks_file(course: Course, *, now: datetime, sees_names: bool) -> HttpResponse:
    """Return the marks of all students, also of those without any: a line for each, a column for each assignment.

    sees_names: whether it has their own names beside their user names.
    """
    records: list[Row] = []
    lines = course_marks(course)
    names = [str(mark.assignment) for line in lines[:1] for mark in line.marks]
    for line in lines:
        user, percent = line.member.user, line.percent(now)
        # Two assignments may have one name.
        columns = {
            f"{name if names.count(name) == 1 else f'{name}, id {mark.assignment.pk}'} (of {mark.assignment.total})": (
                float(mark.marks)
            )
            for name, mark in zip(names, line.marks, strict=True)
        }
        total = {"percent": "" if percent is None else float(percent)}
        name = {"name": user.name} if sees_names else {}
        records.append({"user": user.username, **name, "team": user.team, **columns, **total})
    return exported("csv", f"{course.slug}-marks", records)
