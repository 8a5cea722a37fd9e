"""The page of every action on a row: it asks what the action needs to know, and does it."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from web.organise.acting import act
from web.organise.action import QuestionForm
from web.organise.actions.registry import KINDS
from web.site.organisers import check, organiser, organisers


@organisers()
def action(request: HttpRequest, kind: str, row_id: int, name: str) -> HttpResponse:
    """Ask before an action on a row, or do it."""
    row_kind = KINDS.get(kind)
    chosen = row_kind.action(name) if row_kind else None
    if row_kind is None or chosen is None:
        raise Http404("There is no such action.")
    row = row_kind.model._default_manager.select_related(*row_kind.related).filter(pk=row_id).first()
    if row is None:
        raise Http404("There is no such row.")
    check(request, chosen.permission(row))
    form = QuestionForm(chosen.question, request.POST if request.method == "POST" else None)
    after = _next(request)
    if form.is_valid():
        act(request, chosen, row, form.answer(organiser(request)))
        return redirect(after)
    context = {"action": chosen, "row": row, "kind": row_kind, "form": form, "next": after}
    return render(request, "web/organise/action.html", context, status=422 if form.is_bound else 200)


def _next(request: HttpRequest) -> str:
    """Return the page to show afterwards: the one with the button."""
    wanted = request.POST.get("next", "") or request.GET.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
        return wanted
    return reverse("web:organise")
