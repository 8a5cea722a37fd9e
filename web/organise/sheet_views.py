"""The pages of plain lists, and that of a job."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from core.environments.bringing import is_live
from core.environments.differences import folder_sources
from core.environments.trials import UPLOADING, trial_report
from core.jobs.kinds import JOB_MODELS
from core.jobs.selectors import attempts_of
from core.jobs.waits import wait_of
from core.listing import Counted
from core.models import Environment, EnvironmentTrial, Job
from core.people.rights import may
from core.submissions.visibility import job_log_visible
from web.organise.actions.registry import KINDS
from web.organise.editors import EDITORS
from web.organise.job_sheets import JOB_TITLES, site_page
from web.organise.sheets import BY_KIND, SHEETS
from web.site.organisers import check, organisers
from web.site.requests import page_number, viewer_of
from web.sittings.offers import picture_address

A_PAGE = 50


@organisers()
def first(request: HttpRequest, tab: str) -> HttpResponse:
    """Lead to the first list of a tab that this organiser may see."""
    for sheet in SHEETS:
        if sheet.tab == tab and may(request.user, sheet.right):
            return redirect(f"web:{sheet.name}")
    raise PermissionDenied("Your account does not have the right that this page needs. Ask a superuser for it.")


@organisers()
def rows(request: HttpRequest, kind: str) -> HttpResponse:
    """Show the rows of one kind, found by words, environment and a filter, with what can be done with them."""
    sheet, user = BY_KIND[kind], request.user
    check(request, sheet.right)
    query, slug = (request.GET.get(name, "").replace("\0", "")[:100] for name in ("q", "environment"))
    show = request.GET.get("show", "")
    page = Counted(sheet.rows(query, show, slug), A_PAGE).get_page(page_number(request.GET))
    editor = EDITORS.get(kind)
    context = {
        "tab": sheet.tab,
        "sheet": sheet,
        "query": query,
        "show": show,
        "slug": slug,
        "filters": [(key, title) for key, (title, _) in sheet.shown.items()] if len(sheet.shown) > 1 else (),
        "environments": Environment.objects.order_by("name").only("name", "slug") if sheet.environment else (),
        "page": page,
        "table": [(row, [(column, column.value(row)) for column in sheet.columns]) for row in page.object_list],
        "actions": [one for one in sheet.actions if may(user, one.permission(sheet.model))],
        "siblings": [one for one in SHEETS if one.tab == sheet.tab and may(user, one.right)],
        "may_change": editor is not None and editor.may_change and may(user, editor.right("change")),
        "may_add": editor is not None and editor.may_add and may(user, editor.right("add")),
    }
    return render(request, "web/organise/rows.html", context)


@organisers()
def job(request: HttpRequest, kind: str, job_id: int) -> HttpResponse:
    """Show a job: where it stands and why, its failed attempts and its log, and what can be done."""
    if kind not in JOB_MODELS:
        raise Http404("There is no such kind of job.")
    row = JOB_MODELS[kind]._default_manager.select_related(*KINDS[kind].related).filter(pk=job_id).first()
    if not (isinstance(row, EnvironmentTrial) and row.uploaded_by == request.user and may(request.user, UPLOADING)):
        check(request, f"core.view_{kind}")
    if row is None:
        raise Http404("There is no such job.")
    sees_log = job_log_visible(row, viewer_of(request))
    context = {
        "tab": "organise_jobs",
        "job": row,
        "sheet": BY_KIND[kind],
        "title": JOB_TITLES[kind],
        "wait": wait_of(row),
        "sees_log": sees_log,
        "attempts": attempts_of(row) if sees_log else (),
        "page": site_page(row),
        **_trial(row),
    }
    return render(request, "web/organise/job.html", context)


def _trial(row: Job) -> dict[str, object]:
    """Return what the page of an uploaded folder shows more than those of other jobs."""
    if not isinstance(row, EnvironmentTrial):
        return {}
    report = trial_report(row)
    return {
        "is_folder": True,
        "tab": "organise_environments",
        "report": report,
        "shown": [(one.text, picture_address(one.picture)) for one in report.shown] if report else [],
        "sources": folder_sources(row),
        "is_live": is_live(row),
    }
