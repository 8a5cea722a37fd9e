"""The marks of a course as a file, and as programs read them."""

from __future__ import annotations

import codecs
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
    tasks = list(course.assignments.prefetch_related("baselines"))
    names = [str(task) for task in tasks]
    # Two assignments may have one name.
    headings = [
        f"{name if names.count(name) == 1 else f'{name}, id {task.pk}'} (of {task.total})"
        for name, task in zip(names, tasks, strict=True)
    ]
    header = ["user", *(["name"] if sees_names else ()), "team", *headings, "percent", "changed by hand"]
    for line in course_marks(course):
        user, percent = line.member.user, line.percent(now)
        cells = [float(mark.marks) for mark in line.marks]
        by_hand = [f"{one.assignment}: {one.by_hand.reason}" for one in line.marks if one.by_hand is not None]
        values = [user.username, *([user.name] if sees_names else ()), line.member.team_name, *cells]
        values += ["" if percent is None else float(percent), "; ".join(by_hand)]
        records.append(dict(zip(header, values, strict=True)))
    answer = exported("csv", f"{course.slug}-marks", records, header=header)
    # Excel takes a file without this mark for one of older letters, and breaks the umlauts of names.
    answer.content = codecs.BOM_UTF8 + answer.content
    return answer
