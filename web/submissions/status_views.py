"""The page that shows the status of a submission, found by the id that its uploader received."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from core.courses.sight import hidden
from core.evaluations.episodes import submission_by_id
from core.jobs.phase_selectors import evaluation_of, is_moving, phases_of, status_of
from core.models import Submission
from core.submissions.client_selectors import failure_visible
from web.site.fragments import render_page
from web.site.requests import viewer_of

NO_ID = "This is not an id. Ids look like 123e4567-e89b-12d3-a456-426614174000."
UNKNOWN = "There is no version with this id."
LAST = "last_submission"
"""The cookie with the id of the last submission that this browser made on the page, so that it finds its way back."""
LAST_KEPT = timedelta(days=30)


def status(request: HttpRequest) -> HttpResponse:
    """Show a field for the id, and the status of the submission that has it; without an id, the last one made here."""
    asked = request.GET.get("id", "").strip()[:100]
    found = _found(request, asked) if asked else _last(request)
    if not asked and found:
        asked = str(found["submission"].public_id)
    context = {"asked": asked, **found}
    fragments = {"found": "web/submissions/status_found.html"} if "submission" in found else {}
    code = 404 if "problem" in found else 200
    return render_page(request, "web/submissions/status.html", context, fragments, code)


def last_keep(response: HttpResponse, public_id: UUID) -> None:
    """Let this browser find a submission again, until it makes another one."""
    response.set_cookie(
        LAST,
        str(public_id),
        max_age=LAST_KEPT,
        path=reverse("web:status"),
        secure=settings.HTTPS,
        httponly=True,
        samesite="Lax",
    )


def _last(request: HttpRequest) -> dict[str, Any]:
    """Return the last submission of this browser; nothing if there is none or it was deleted."""
    found = _found(request, request.COOKIES.get(LAST, ""))
    return found if "submission" in found else {}


def _found(request: HttpRequest, asked: str) -> dict[str, Any]:
    try:
        row = submission_by_id(UUID(asked))
    except ValueError:
        return {"problem": NO_ID}
    if row is None or hidden(Submission.objects.filter(pk=row.pk), viewer_of(request)).exists():
        return {"problem": UNKNOWN}
    return {
        "submission": row,
        "agent": row.agent,
        "environment": row.agent.environment,
        "status": status_of(row),
        "phases": phases_of([row], is_publishing=bool(settings.PUBLISHER_REMOTE))[0],
        "evaluation": evaluation_of(row),
        "is_moving": is_moving(row),
        "is_owner": row.agent.owner_id == request.user.pk,
        "can_see_source": failure_visible(row.agent, viewer_of(request)),
    }
