"""The page on which news of a course are written."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from core.courses.services import announcement_write
from web.courses.forms import AnnouncementForm
from web.courses.views import course_for
from web.organise.acting import record
from web.site.organisers import organiser, sent


@login_required
def write(request: HttpRequest, course: str) -> HttpResponse:
    """Write news, which go to the inbox and by mail, and stand on the page of the course."""
    row = course_for(request, course, "core.change_course")
    form = AnnouncementForm(sent(request), tournaments=row.tournaments.select_related("environment").order_by("-pk"))
    if form.is_valid():
        with transaction.atomic():
            made = announcement_write(course=row, by=organiser(request), **form.cleaned_data)
            record(request, "add", made)
        messages.success(request, f"“{made}” is sent.")
        return redirect("web:course", row.slug)
    context = {"form": form, "title": "Write news", "course": row, "button": "Send"}
    return render(request, "web/courses/form.html", context, status=422 if form.errors else 200)
