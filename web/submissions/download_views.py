"""Downloads of versions: archives, bills of materials and logs."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import reverse

from core.duels.selectors import NotStored, file_get
from core.models import Submission
from core.submissions.tries import version_visible
from web.site.files import JSON, ZIP, attachment, log_page
from web.site.played import source_visible
from web.site.refusals import explained
from web.site.requests import viewer_of


@explained
def submission_archive(request: HttpRequest, submission_id: int) -> HttpResponseBase:
    """Send the uploaded zip."""
    row = get_submission(request, submission_id)
    if row.deleted_at is not None:
        raise NotStored("This version has been deleted by its owner.")
    return attachment(file_get(row.archive, "This archive is"), f"{row.agent.name}-v{row.number}.zip", ZIP)


@explained
def submission_sbom(request: HttpRequest, submission_id: int) -> HttpResponseBase:
    """Send the bill of materials of the image (CycloneDX)."""
    row = get_submission(request, submission_id)
    build = row.latest_build
    if build is None or not build.sbom:
        raise NotStored("This version has no bill of materials: it has no image, or its image was built without one.")
    file = file_get(build.sbom, "This bill of materials is")
    return attachment(file, f"{row.agent.name}-v{row.number}-sbom.json", JSON)


@explained
def submission_log(request: HttpRequest, submission_id: int, log: str) -> HttpResponseBase:
    """Show the log of a submission's phase, or what a player printed while the submission played against itself."""
    row = get_submission(request, submission_id)
    name = f"{row.agent.name}-v{row.number}-{log}.log"
    agent, slug = row.agent, row.agent.environment.slug
    crumbs = [
        (reverse("web:environment", args=[slug]), str(agent.environment)),
        (f"{reverse('web:agent', args=[slug, agent.name])}?version={row.number}#v{row.number}", str(agent)),
    ]
    validation = row.latest_validation
    jobs = {"build": row.latest_build, "validation": validation, "publication": row.latest_publication}
    if log not in (*jobs, "player_1", "player_2"):
        raise Http404("There is no such log.")
    if log in jobs:
        job = jobs[log]
        if job is None:
            raise NotStored(f"There is no log of the {log} yet.")
        return log_page(request, job.log, name, f"{log.capitalize()} log of {row}", crumbs)
    if validation is None:
        raise NotStored("This version has not been validated yet.")
    field = validation.player_1_log if log == "player_1" else validation.player_2_log
    file = file_get(field, "This player printed nothing, or its log is")
    return log_page(request, file, name, f"Output of {row} as {log.replace('_', ' ')}", crumbs)


def get_submission(request: HttpRequest, submission_id: int) -> Submission:
    """Return a submission whose source the viewer may see. Raises Http404, also if it exists but is private."""
    rows = Submission.objects.select_related("agent__owner", "agent__environment").prefetch_related(
        "builds", "validations", "publications"
    )
    try:
        row = rows.get(pk=submission_id)
    except Submission.DoesNotExist:
        raise Http404("There is no such submission.") from None
    if not source_visible(request, row.agent) or not version_visible(row, viewer_of(request)):
        raise Http404("There is no such submission.")
    return row
