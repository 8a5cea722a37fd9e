"""The pages of participants, and the picture of a tournament."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from core.errors import Refused
from core.models import Evaluation, Participant, Tournament, TournamentState, User
from core.models.tournament import PICTURES
from core.moderation import withdrawals
from core.submissions.selectors import agent_source_visible
from core.tournaments.results import results_check
from core.tournaments.selectors import opponent_list, participant_get, participant_progress
from web.site.embedding import loadable
from web.site.media import media_response
from web.site.refusals import explained
from web.site.requests import page_number, viewer_of, whole_number

DUELS_A_PAGE = 50


@explained
def participant(request: HttpRequest, slug: str, edition: int, name: str) -> HttpResponse:
    """A participant's duels against each opponent; for htmx, only the part that changes while they are played."""
    row = _participant(slug, edition, name, request.GET.get("version", ""))
    results_check(row.tournament, viewer_of(request))
    progress = participant_progress(row)
    page = Paginator(range(progress.total), DUELS_A_PAGE).get_page(page_number(request.GET))
    context = {
        "participant": row,
        "agent": row.submission.agent,
        "tournament": row.tournament,
        "environment": row.tournament.environment,
        "is_running": row.tournament.state == TournamentState.RUNNING or progress.done < progress.total,
        "opponents": opponent_list(row, offset=max(0, page.start_index() - 1), limit=DUELS_A_PAGE),
        "progress": progress,
        "evaluations": Evaluation.every.filter(tournament=row.tournament, submission=row.submission).order_by("-pk"),
        "page": page,
        "can_see_source": agent_source_visible(row.submission.agent, viewer_of(request)),
    }
    part = request.headers.get("HX-Target") == "participant"
    return render(request, "web/tournaments/body.html" if part else "web/tournaments/participant.html", context)


@require_POST
@login_required
def participant_withdraw(request: HttpRequest, slug: str, edition: int, name: str) -> HttpResponse:
    """Withdraw the person's agent from a running tournament of organisers."""
    assert isinstance(request.user, User)
    row = _participant(slug, edition, name)
    if row.submission.agent.owner_id != request.user.pk:
        raise PermissionDenied("Only the owner of an agent may withdraw it.")
    try:
        withdrawals.participant_withdraw(participant=row, user=request.user)
    except Refused as refusal:
        messages.error(request, str(refusal))
    else:
        stays = "" if row.tournament.plays_alone else " Its duels stay in its history."
        messages.success(request, f"{row.submission.agent} has withdrawn.{stays}")
    return redirect("web:edition", slug, edition)


@explained
def picture(request: HttpRequest, slug: str, edition: int, picture: UUID) -> HttpResponseBase:
    """Send the picture of a tournament that has this address, which never shows another one."""
    rows = Tournament.objects.select_related("environment").filter(environment__slug=slug, edition=edition)
    row = get_object_or_404(rows, picture__startswith=f"{PICTURES}/{picture}")
    response = media_response(request, row.picture, "The picture is")
    # For this reader alone, because a course may become one for its members.
    response["Cache-Control"] = "private, max-age=31536000, immutable"
    return response if row.course_id or row.environment.course_id else loadable(response)


def _participant(slug: str, edition: int, name: str, version: str = "") -> Participant:
    """Return an agent's participant with its newest version, or with this one. Raises Http404."""
    try:
        return participant_get(slug, edition, name, whole_number(version))
    except Participant.DoesNotExist:
        raise Http404("No such agent takes part in this tournament.") from None
