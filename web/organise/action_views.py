"""The page of every action on rows: it has a form for what the action needs, and does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from core.courses.sight import course_of
from web.organise.acting import act
from web.organise.action import OrganiserAction, QuestionForm
from web.organise.actions.registry import KINDS
from web.site.organisers import check, files_sent, organiser, sent
from web.site.requests import whole_number

MOST_ROWS = 200
"""The most rows of one action; a list has fewer on a page."""


@login_required
def action(request: HttpRequest, kind: str, name: str, row_id: int | None = None) -> HttpResponse:
    """Ask before an action on a row, or on the rows that `row` names, or do it."""
    row_kind = KINDS.get(kind)
    chosen = row_kind.action(name) if row_kind else None
    if row_kind is None or chosen is None:
        raise Http404("There is no such action.")
    data = request.POST if request.method == "POST" else request.GET
    keys = [row_id] if row_id else [whole_number(key) for key in data.getlist("row")]
    found = row_kind.model._default_manager.select_related(*row_kind.related).filter(pk__in=keys[:MOST_ROWS])
    rows = list(found.order_by("pk"))
    for course in {course_of(row) for row in rows} or {None}:
        check(request, chosen.permission(row_kind.model), course)
    after = _next(request)
    if row_id and not rows:
        raise Http404("There is no such row.")
    if not rows:
        messages.error(request, "Nothing was done: choose at least one row.")
        return redirect(after)
    form = _form(request, chosen, rows)
    if form.is_valid():
        act(request, chosen, rows, form.answer(organiser(request)))
        return redirect(after)
    preview = _preview(chosen, rows) if len(rows) == 1 else []
    context = {"action": chosen, "rows": rows, "kind": row_kind, "form": form, "next": after, "preview": preview}
    return render(request, "web/organise/action.html", context, status=422 if form.is_bound else 200)


def _form(request: HttpRequest, action: OrganiserAction[Any], rows: Sequence[Any]) -> QuestionForm:
    form = QuestionForm(action.question, sent(request), rows, files_sent(request))
    if action.question and action.question.suggested and len(rows) == 1:
        form.initial["number"] = action.question.suggested(rows[0])
    return form


def _preview(action: OrganiserAction[Any], rows: Sequence[Any]) -> Sequence[str]:
    """Return lines about what an action on a row would change."""
    preview = action.question.preview if action.question else None
    return preview(rows[0]) if preview else ()


def _next(request: HttpRequest) -> str:
    """Return the page to show afterwards: the one with the button."""
    wanted = request.POST.get("next", "") or request.GET.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
        return wanted
    return reverse("web:organise")
