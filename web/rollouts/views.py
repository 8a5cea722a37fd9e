"""Pages of an application: its board, tasks, and what they tell."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from core.errors import Refused
from core.models import AuditEntry, Environment, Task, User
from core.people.acting import acting
from core.people.audit_log import operator_of
from core.people.rights import may
from core.rollouts.acceptance import acceptance_ask, tasks_untested
from core.rollouts.board import board
from core.rollouts.figures import analytics
from core.rollouts.permissions import ORGANISING, Viewer, answers_visible, may_ask
from core.rollouts.selectors import (
    application_get,
    of_task,
    revisions_of,
    rollout_rows,
    tags_of,
    task_get,
    tasks_current,
    tasks_filtered,
)
from core.rollouts.sets import may_drop, task_archive, task_delete, task_set_choose
from core.rollouts.tasks import tasks_upload
from web.rollouts.forms import TaskFileForm, TaskFilterForm, TaskSetForm
from web.rollouts.task_parts import revision_changes, strips
from web.site.fragments import render_page
from web.site.requests import page_number, viewer_of

Context = dict[str, Any]
PLAIN = {"null": "nothing", "scripted": "the oracle of each task"}
"""The words for agents without a name."""
DROPPED = {"archive": "is archived", "restore": "is in the lists again", "delete": "is deleted"}
RENEW = "Renew the board, and agents work at the tasks that are new to them."
TASKS_A_PAGE, ROLLOUTS_SHOWN = 50, 50


def tasks(request: HttpRequest, slug: str) -> HttpResponse:
    """List the tasks of an application with filters; POST uploads a file of tasks, or has tasks tested."""
    row, viewer, form, report = get_application(slug), viewer_of(request), TaskFileForm(), None
    if deed := next((name for name in DEEDS if name in request.POST), ""):
        return DEEDS[deed](request, row)
    if request.method == "POST":
        form = TaskFileForm(request.POST, request.FILES)
        report = _uploaded(request, row, form)
    wanted = TaskFilterForm(request.GET, tags=tags_of(row, viewer))
    found = tasks_filtered(tasks_current(viewer, row, archived=wanted.wanted.archived), wanted.wanted)
    page = Paginator(found, TASKS_A_PAGE).get_page(page_number(request.GET))
    context: Context = {
        "environment": row,
        "form": form,
        "report": report,
        "filter": wanted,
        "tasks": page,
        "is_filtered": bool(any(wanted.cleaned_data.values())) or bool(wanted.errors),
        "may_ask": may_ask(viewer),
        "board_form": TaskSetForm(environment=row) if may(viewer, ORGANISING) else None,
        "untested": tasks_untested(viewer, row).count() if may_ask(viewer) else 0,
        "base": reverse("web:rollout_tasks", args=[slug]),
        "query": request.GET.urlencode(),
    }
    return render(request, "web/rollouts/tasks.html", context, status=422 if form.is_bound and report is None else 200)


def task(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Show a task: instruction, revisions, attempts, and what is judged. POST archives, restores or deletes it."""
    row, viewer = get_application(slug), viewer_of(request)
    found = get_task(viewer, key, row)
    if request.POST.get("act") in DROPPED:
        return _dropped(request, found)
    revisions = [each for each in revisions_of(found) if each.pk == found.pk or answers_visible(each, viewer)]
    attempts = rollout_rows(viewer).filter(of_task(found, "task__"))
    context: Context = {
        "environment": row,
        "task": found,
        "revisions": revisions,
        "sees_answers": answers_visible(found, viewer),
        "rollouts": list(attempts[:ROLLOUTS_SHOWN]),
        "may_ask": may_ask(viewer),
        "may_drop": may_drop(found, viewer),
        "may_test": may_ask(viewer) and answers_visible(found, viewer) and not found.file.by_organiser,
        "page": request.path,
        "most": ROLLOUTS_SHOWN,
        "limits": found.definition.get("limits", {}),
    }
    context["strips"] = strips(found, context["rollouts"])
    context["changed"] = revision_changes(revisions, request.GET, viewer)
    context["is_live"] = any(not each.is_over for each in context["rollouts"])
    return render_page(request, "web/rollouts/task.html", context, {"attempts": "web/rollouts/attempts.html"})


def told(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what tasks tell: always, sometimes and never solved, where agents differ, what solving costs."""
    row = get_application(slug)
    found = analytics(row, viewer_of(request))
    lists: dict[str, list[str]] = {"always": [], "sometimes": [], "never": []}
    for key, often in sorted(found.often.items()):
        lists[often.value].append(key)
    shown = board(row)
    context: Context = {
        "environment": row,
        "lists": lists,
        "board": shown,
        "disagreements": found.disagreements,
        "only_by_oracle": found.only_by_oracle,
        "agents": _rates(found.agents),
    }
    return render(request, "web/rollouts/told.html", context)


def get_application(slug: str) -> Environment:
    """Return an application. Raises Http404."""
    try:
        return application_get(slug)
    except Environment.DoesNotExist:
        raise Http404("There is no such application.") from None


def get_task(viewer: Viewer, key: str, row: Environment) -> Task:
    """Return the task that a name means to a viewer. Raises Http404."""
    try:
        return task_get(viewer, key, row)
    except Task.DoesNotExist:
        raise Http404("There is no such task.") from None


def _uploaded(request: HttpRequest, row: Environment, form: TaskFileForm) -> dict[str, Any] | None:
    """Upload tasks; return what changed, or None with the errors in the form."""
    if not isinstance(request.user, User):
        raise PermissionDenied("Log in to upload tasks.")
    if not form.is_valid():
        return None
    try:
        sent = tasks_upload(
            owner=request.user,
            environment=row,
            data=form.data_sent(),
            allow_duplicates=form.cleaned_data["allow_duplicates"],
            operator=operator_of(request, AuditEntry.Channel.SITE),
        )
    except Refused as refusal:
        form.add_error("file" if refusal.field == "file" else None, str(refusal))
        return None
    report: dict[str, Any] = sent.file.report
    return report


def _tested(request: HttpRequest, row: Environment) -> HttpResponse:
    """Have the task that a form names tested, or all untested ones of the person; say how it goes."""
    if not isinstance(request.user, User):
        raise PermissionDenied("Log in to have tasks tested.")
    try:
        count = acceptance_ask(by=request.user, environment=row, names=list(filter(None, request.POST.getlist("test"))))
    except Refused as refusal:
        messages.error(request, str(refusal))
    else:
        tasks = "One task is" if count == 1 else f"{count} tasks are"
        messages.success(request, f"{tasks} tested as soon as no other rollout waits.")
    return redirect("web:rollout_tasks", row.slug)


def _chosen(request: HttpRequest, row: Environment) -> HttpResponse:
    """Let the board rank agents by the tasks that a form names."""
    if not isinstance(request.user, User) or not may(request.user, ORGANISING):
        raise PermissionDenied("Organisers choose the tasks of boards.")
    form = TaskSetForm(request.POST, environment=row)
    try:
        if not form.is_valid():
            raise Refused("A task that was chosen cannot rank agents any more. Choose again.")
        with acting(request, action="choose_tasks", row=row, sentence=""):
            made = task_set_choose(environment=row, tasks=form.tasks, by=request.user)
    except Refused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, f"The board ranks agents by version {made.number} of its tasks. {RENEW}")
    return redirect("web:rollout_tasks", row.slug)


DEEDS = {"test": _tested, "choose": _chosen}
"""The deeds of the list of tasks besides an upload, by the names of their buttons."""


def _dropped(request: HttpRequest, found: Task) -> HttpResponse:
    """Archive, restore or delete a task, as the button says."""
    if not isinstance(request.user, User):
        raise PermissionDenied("Log in to archive or delete tasks.")
    act = request.POST["act"]
    try:
        with acting(request, action=act, row=found, sentence=DROPPED[act]):
            if act == "delete":
                task_delete(task=found, by=request.user)
            else:
                task_archive(task=found, by=request.user, is_archived=act == "archive")
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect("web:rollout_task", found.environment.slug, found.name)
    messages.success(request, f"{found.name} {DROPPED[act]}.")
    return redirect("web:rollout_tasks", found.environment.slug)


def _rates(agents: Any) -> list[dict[str, Any]]:
    """Return by agent how many attempts were made and solved, the best first."""
    rows = []
    for name, tasks_of in agents.items():
        counts = list(tasks_of.values())
        made = sum(each.attempts for each in counts)
        if made:
            solved = sum(each.solved for each in counts)
            rows.append(
                {
                    "name": PLAIN.get(name, name),
                    "tasks": len(counts),
                    "made": made,
                    "solved": solved,
                    "share": solved / made,
                }
            )
    return sorted(rows, key=lambda row: (-row["share"], row["name"]))
