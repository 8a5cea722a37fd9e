"""Pages of rollouts: video and steps in step, checks, costs, files; and two rollouts side by side."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models.fields.files import FieldFile
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from core.duels.selectors import NotStored
from core.errors import Refused
from core.files.removed import removed_on
from core.models import CancelCode, Rollout, User
from core.people.acting import acting
from core.people.rights import may
from core.rollouts.batches import rollout_cancel
from core.rollouts.judging import JUDGING, can_be_judged, judging_ask, newest_revision
from core.rollouts.permissions import Viewer, expected_visible, may_change_batch, work_hidden_because, work_visible
from core.rollouts.records import picture_of, steps_read
from core.rollouts.selectors import checks_shown, of_task, rollout_get, rollout_rows, verdicts_of
from web.rollouts.batch_views import id_in
from web.rollouts.parts import aligned, changes_compared, changes_view, number_in, steps_view
from web.site.fragments import render_page
from web.site.media import media_response
from web.site.refusals import explained
from web.site.requests import viewer_of

Context = dict[str, Any]
FILES = (
    ("video", "Video", "webm"),
    ("steps", "Steps", "gz"),
    ("pages", "Pages and pictures", "zip"),
    ("trace", "Trace, for Playwright's viewer", "zip"),
    ("har", "Network log", "har"),
    ("player_log", "Output of the agent", "text"),
)
SECRET_FILES = (
    ("record", "Record", "json"),
    ("export", "Exported state", "zip"),
    ("changes", "Changes of the state", "json"),
    ("world_log", "Output of the services", "text"),
    ("model_log", "Questions to the model", "gz"),
)
MOST_OTHERS = 30
PICTURE = re.compile(r"[A-Za-z0-9_-]{1,100}\.(?:png|webp)\Z")


def rollout(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Show a rollout, the part of it that refreshes while it runs, or one of its steps."""
    row, viewer = get_rollout(request, public_id), viewer_of(request)
    context: Context = {
        **_work(request, row, viewer),
        "rollout": row,
        "task": row.task,
        "batch": row.batch,
        "environment": row.environment,
        "page": request.path,
        "has_video": is_kept(row.video),
        "gone_since": removed_on(row.video.name),
        "is_live": not row.is_over or bool(row.judging_asked),
        "may_judge": may(viewer, JUDGING) and can_be_judged(row),
        "newest_revision": newest_revision(row.task),
        "may_change": may_change_batch(row.batch, viewer),
        "not_yours": work_hidden_because(row),
        "others": []
        if request.headers.get("HX-Target")
        else list(rollout_rows(viewer).filter(of_task(row.task, "task__")).exclude(pk=row.pk)[:MOST_OTHERS]),
    }
    fragments = {"rollout": "web/rollouts/rollout_body.html", "step": "web/rollouts/step.html"}
    return render_page(request, "web/rollouts/rollout.html", context, fragments)


@require_POST
def cancel(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Cancel a rollout that is not over."""
    row, viewer = get_rollout(request, public_id), viewer_of(request)
    if not may_change_batch(row.batch, viewer):
        raise PermissionDenied("Only the person who asked for a rollout and organisers may cancel it.")
    with acting(request, action="cancel", row=row, sentence="was cancelled"):
        by = CancelCode.BY_OWNER if row.batch.owner_id == viewer.pk else CancelCode.BY_ORGANISER
        rollout_cancel(rollout=row, code=by)
    return redirect("web:rollout", row.public_id)


@require_POST
def judge(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Ask for another verdict, by the task as it was or as it is now."""
    row = get_rollout(request, public_id)
    if not (isinstance(request.user, User) and may(request.user, JUDGING)):
        raise PermissionDenied("Only organisers have rollouts judged again.")
    try:
        # A verdict can change a board, so one's own is no exception.
        with acting(request, action="judge_again", row=row, sentence="is judged again", even_own=True):
            judging_ask(rollout=row, by=request.user, by_newest_task=request.POST.get("by") == "newest")
    except Refused as refusal:
        messages.error(request, str(refusal))
    return redirect("web:rollout", row.public_id)


@explained
def video(request: HttpRequest, public_id: UUID) -> HttpResponseBase:
    """Send the video in ranges, which seeking needs."""
    return media_response(request, _seen(request, public_id).video, "The video of this rollout is")


def picture(request: HttpRequest, public_id: UUID, name: str) -> HttpResponse:
    """Send a picture of a step. Names are those of the arena; a page that is text is never sent as one."""
    row = _seen(request, public_id)
    if not PICTURE.match(name):
        raise Http404("There is no such picture.")
    try:
        content, kind = picture_of(row, name)
    except NotStored as missing:
        raise Http404(str(missing)) from None
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, max-age=86400"}
    return HttpResponse(content, content_type=kind, headers=headers)


@explained
def rollouts_compared(request: HttpRequest) -> HttpResponseBase:
    """Show two rollouts side by side, by step, with the first action that differs."""
    first, second = (_seen(request, id_in(request, name)) for name in ("first", "second"))
    viewer, at = viewer_of(request), number_in(request.GET, "step", 1)
    sees_state = all(expected_visible(each, viewer) for each in (first, second))
    context: Context = {
        "first": first,
        "second": second,
        "found": aligned(steps_read(first), steps_read(second), at=at),
        "changes": changes_compared(first, second) if sees_state else None,
        "environment": first.environment,
        "address": f"?first={first.public_id}&second={second.public_id}",
        "is_same_task": (first.environment_id, first.task.name) == (second.environment_id, second.task.name),
    }
    return render(request, "web/rollouts/rollouts_compared.html", context)


def _work(request: HttpRequest, row: Rollout, viewer: Viewer) -> Context:
    """Return what a viewer sees of what an agent did, and of how it was judged."""
    sees_work, sees_answers = work_visible(row, viewer), expected_visible(row, viewer)
    verdicts = [(each, *checks_shown(each, with_expected=sees_answers)) for each in verdicts_of(row)]
    files = (*FILES, *SECRET_FILES) if sees_answers else FILES if sees_work else ()
    return {
        "sees_work": sees_work,
        "sees_answers": sees_answers,
        "verdicts": verdicts if sees_work else [],
        "view": steps_view(row, request.GET) if sees_work else None,
        "files": [(name, title, kind) for name, title, kind in files if is_kept(getattr(row, name))],
        "changes": changes_view(row) if sees_answers and row.is_over else None,
    }


def get_rollout(request: HttpRequest, public_id: UUID) -> Rollout:
    """Return a rollout whose outcome a viewer sees. Raises Http404."""
    try:
        return rollout_get(viewer_of(request), public_id)
    except Rollout.DoesNotExist:
        raise Http404("There is no such rollout.") from None


def is_kept(file: FieldFile) -> bool:
    """Return whether a rollout has a file that retention has not deleted."""
    return bool(file) and not removed_on(file.name)


def _seen(request: HttpRequest, public_id: UUID) -> Rollout:
    """Return a rollout whose steps a viewer sees. Raises Http404 and PermissionDenied."""
    row = get_rollout(request, public_id)
    if not work_visible(row, viewer_of(request)):
        raise PermissionDenied(work_hidden_because(row))
    return row
