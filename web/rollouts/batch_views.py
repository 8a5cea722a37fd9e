"""Pages of batches: asking for rollouts, their progress and figures, and two batches side by side."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from arena_kit.rollout.numbers.comparison import compare
from arena_kit.rollout.numbers.summary import counts_by_task
from core.errors import Refused
from core.models import Batch, Environment, Task, User
from core.people.acting import acting
from core.rollouts.batches import batch_cancel, batch_create
from core.rollouts.choosing import agent_chosen
from core.rollouts.figures import attempts_in, batch_figures
from core.rollouts.permissions import check_may_ask, may_change_batch, work_visible
from core.rollouts.quotas import rollout_quotas
from core.rollouts.selectors import (
    batch_get,
    batch_matrix,
    batch_rollouts,
    batch_rows,
    tags_of,
    tasks_current,
    tasks_filtered,
    tasks_named,
)
from web.rollouts.forms import BatchForm, TaskFilterForm
from web.rollouts.parts import MatrixRow
from web.rollouts.views import get_application
from web.site.fragments import render_page
from web.site.requests import page_number, viewer_of

Context = dict[str, Any]
BATCHES_A_PAGE, MOST_OTHERS = 50, 50


def batches(request: HttpRequest, slug: str) -> HttpResponse:
    """List the batches of an application."""
    row = get_application(slug)
    found = batch_rows(viewer_of(request)).filter(environment=row)
    page = Paginator(found, BATCHES_A_PAGE).get_page(page_number(request.GET))
    context = {"environment": row, "batches": page, "base": reverse("web:batches", args=[slug])}
    return render(request, "web/rollouts/batches.html", context)


@login_required
def batch_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for rollouts at chosen tasks, or at all that a filter finds."""
    row = get_application(slug)
    assert isinstance(request.user, User)
    try:
        check_may_ask(request.user)
    except Refused as refusal:
        raise PermissionDenied(str(refusal)) from None
    chosen = _chosen(request, request.user, row)
    form = BatchForm(request.POST or None, user=request.user, environment=row)
    if request.method == "POST" and form.is_valid():
        made = _made(request.user, row, chosen, form)
        if made is not None:
            return redirect("web:batch", made.public_id)
    context: Context = {
        "environment": row,
        "form": form,
        "tasks": chosen,
        "keys": request.GET.getlist("task"),
        "quotas": rollout_quotas(request.user, row, now=timezone.now()),
    }
    return render(request, "web/rollouts/batch_new.html", context, status=422 if form.errors else 200)


def batch(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Show a batch, or the part of it that refreshes while it runs."""
    viewer = viewer_of(request)
    row = get_batch(request, public_id)
    figures = batch_figures(batch_rollouts(row, viewer))
    matrix = [
        MatrixRow(task, rollouts, figures.often[task.name].value if task.name in figures.often else "")
        for task, rollouts in batch_matrix(row, viewer)
    ]
    over = row.over_count == row.rollout_count
    context: Context = {
        "batch": row,
        "environment": row.environment,
        "figures": figures,
        "matrix": matrix,
        "columns": range(1, row.attempts + 1),
        "is_over": over,
        "page": request.path,
        "may_change": may_change_batch(row, viewer),
        "sees_work": any(work_visible(rollout, viewer) for each in matrix for rollout in each.rollouts),
        "others": []
        if request.headers.get("HX-Target")
        else list(batch_rows(viewer).filter(environment=row.environment).exclude(pk=row.pk)[:MOST_OTHERS]),
    }
    return render_page(request, "web/rollouts/batch.html", context, {"batch": "web/rollouts/batch_body.html"})


@require_POST
def cancel(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Cancel the rollouts of a batch that are not over."""
    viewer, row = viewer_of(request), get_batch(request, public_id)
    if not may_change_batch(row, viewer):
        raise PermissionDenied("Only the person who asked for a batch and organisers may cancel it.")
    with acting(request, action="cancel", row=row, sentence="was cancelled"):
        count = batch_cancel(batch=row, by_owner=row.owner_id == viewer.pk)
    messages.success(request, f"{count} rollout{'' if count == 1 else 's'} cancelled.")
    return redirect("web:batch", row.public_id)


def batches_compared(request: HttpRequest) -> HttpResponse:
    """Show two batches side by side, task by task."""
    viewer = viewer_of(request)
    first, second = (get_batch(request, id_in(request, name)) for name in ("first", "second"))
    if first.environment_id != second.environment_id:
        raise Http404("These batches are of different applications.")
    # Only what the viewer sees is counted, or a figure would tell about hidden tasks.
    counts = [counts_by_task(attempts_in(batch_rollouts(each, viewer))) for each in (first, second)]
    context = {
        "environment": first.environment,
        "first": first,
        "second": second,
        "found": compare(*counts),
        "figures": [batch_figures(batch_rollouts(each, viewer)) for each in (first, second)],
    }
    return render(request, "web/rollouts/batches_compared.html", context)


def get_batch(request: HttpRequest, public_id: UUID) -> Any:
    """Return a batch that a viewer sees, with its counts. Raises Http404."""
    try:
        return batch_get(viewer_of(request), public_id)
    except Batch.DoesNotExist:
        raise Http404("There is no such batch.") from None


def id_in(request: HttpRequest, name: str) -> UUID:
    """Return an id that an address names. Raises Http404."""
    try:
        return UUID(request.GET.get(name, ""))
    except ValueError:
        raise Http404("An id in this address is missing or wrong.") from None


def _chosen(request: HttpRequest, user: User, row: Environment) -> list[Task]:
    names = request.GET.getlist("task")
    if names:
        return list(dict.fromkeys(tasks_named(user, names, row).values()))
    rows = tasks_current(user, row)
    return list(tasks_filtered(rows, TaskFilterForm(request.GET, tags=tags_of(row, user)).wanted))


def _made(user: User, row: Environment, tasks: list[Task], form: BatchForm) -> Batch | None:
    """Make a batch; return None with the reason in the form."""
    try:
        agent = agent_chosen(owner=user, environment=row, word=form.word, **form.config)
        return batch_create(owner=user, environment=row, tasks=tasks, agent=agent, options=form.batch_options)
    except Refused as refusal:
        form.add_error(refusal.field if refusal.field in form.fields else None, str(refusal))
        return None
